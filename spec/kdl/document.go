// Package kdl reads KDL 2 documents with the place of every node and value. It also accepts what
// documents for KDL 1 commonly have: raw strings such as r#"..."#, and true, false and null
// without a #.
package kdl

import "fmt"

// Pos is a place: line and column (in characters) from 1.
type Pos struct{ Line, Col int }

// Node is a node with its arguments, properties and children.
type Node struct {
	Name     string
	Pos      Pos
	Args     []Value
	Props    []Prop
	Children []*Node
	Block    bool // there are braces, which may be empty
}

// Prop is a property of a node. Of properties with the same name the last one applies, but all
// are kept.
type Prop struct {
	Name  string
	Pos   Pos
	Value Value
}

// Kind is the type of a value.
type Kind uint8

// The kinds of values.
const (
	Null Kind = iota
	Bool
	Int
	Float
	String
)

// Value is an argument or the value of a property.
type Value struct {
	Kind Kind
	// Text is the text of a string, true or false, or a number in decimal
	// without separators.
	Text string
	Bare bool // a string without quotes
	Pos  Pos
}

// Error is an error in a document.
type Error struct {
	Pos     Pos
	Message string
	Hint    string // how to correct it; may be empty
}

// Error returns the place and the message.
func (e *Error) Error() string {
	return fmt.Sprintf("%d:%d: %s", e.Pos.Line, e.Pos.Col, e.Message)
}
