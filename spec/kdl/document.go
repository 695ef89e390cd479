// Package kdl reads KDL 2 documents with the place of every node and value. It
// also takes what documents written for KDL 1 commonly have: raw strings such
// as r#"..."#, and true, false and null without a #.
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
	Block    bool // there are braces, though perhaps nothing in them
}

// Prop is a property of a node. Of properties with one name the last counts;
// all are kept.
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

// Error says what is wrong with a document.
type Error struct {
	Pos     Pos
	Message string
	Hint    string // what would be right; may be empty
}

// Error returns place and message.
func (e *Error) Error() string {
	return fmt.Sprintf("%d:%d: %s", e.Pos.Line, e.Pos.Col, e.Message)
}
