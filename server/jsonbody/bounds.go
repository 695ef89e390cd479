// Package jsonbody estimates the memory that a JSON body takes to decode, before it is
// decoded: list elements of a few bytes become structs of a kilobyte each, and the decoder
// reads to the end of the list, even if it is invalid.
package jsonbody

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
)

// Limits of a body.
const (
	// MaxDepth is how deeply arrays and objects may be nested. Clients in other languages
	// read at most 128 levels.
	MaxDepth = 100
	// MaxValues is the length of a list of plain values.
	MaxValues = 1_000_000
	// MaxCost is the memory that the values may take, without their texts.
	MaxCost = 256 << 20
)

// Mismatch is the error for a list element that must be an object and is not.
type Mismatch struct {
	Field string // with its parents, joined by dots; empty for the body itself
	Got   string // its type, as encoding/json names it
}

func (e *Mismatch) Error() string {
	at := ""
	if e.Field != "" {
		at = " for field `" + e.Field + "`"
	}
	return "invalid type: " + e.Got + at + ", expected an object"
}

// TooMany is the error for a list that is too long.
type TooMany struct {
	Field    string
	Len, Max int
}

func (e *TooMany) Error() string {
	name := e.Field[strings.LastIndexByte(e.Field, '.')+1:]
	return fmt.Sprintf("the list of %s has %d entries; at most %d are accepted at once", name, e.Len, e.Max)
}

// TooCostly is the error for a body that is nested too deeply or would take too much
// memory.
type TooCostly struct{ Why string }

func (e *TooCostly) Error() string { return e.Why }

// Cost returns the approximate memory for decoding a JSON text into a type, without its
// texts. It returns the first error: a Mismatch, TooMany for a list of more than
// maxObjects objects, or TooCostly. Invalid JSON costs nothing, because the decoder
// rejects it first.
func Cost(text []byte, into reflect.Type, maxObjects int) (int64, error) {
	w := walker{text: text, maxObjects: maxObjects}
	err := w.value(planOf(into))
	if w.broken {
		return 0, nil
	}
	return w.cost, err
}

// Small reports whether a text is too small to cost much or to be nested deeply.
func Small(text []byte) bool {
	const small = 16 << 10
	return len(text) <= small && bytes.Count(text, []byte("["))+bytes.Count(text, []byte("{")) <= MaxDepth
}

// walker scans a text once, without decoding it.
type walker struct {
	text       []byte
	at         int
	depth      int
	maxObjects int
	path       []string // the names of the fields around the value
	cost       int64
	broken     bool // the text is not JSON
}

// value scans the next value.
func (w *walker) value(p *plan) error {
	switch c := w.next(); c {
	case '{', '[':
		if w.depth++; w.depth > MaxDepth {
			return &TooCostly{fmt.Sprintf("arrays and objects are nested deeper than %d levels", MaxDepth)}
		}
		w.at++
		var err error
		if c == '{' {
			err = w.object(p)
		} else {
			err = w.list(p)
		}
		w.depth--
		return err
	case '"':
		w.skipText()
	case 0:
		w.broken = true
	default:
		w.skipWord()
	}
	return nil
}

// object scans an object after its brace.
func (w *walker) object(p *plan) error {
	for first := true; ; first = false {
		c := w.next()
		if c == '}' {
			w.at++
			return nil
		}
		if !first {
			if c != ',' {
				w.broken = true
				return nil
			}
			w.at++
			c = w.next()
		}
		if c != '"' {
			w.broken = true
			return nil
		}
		name := w.skipText()
		if w.next() != ':' {
			w.broken = true
			return nil
		}
		w.at++
		field := p.field(name)
		if err := w.addCost(field); err != nil {
			return err
		}
		w.path = append(w.path, field.name)
		if err := w.value(field.plan); err != nil || w.broken {
			return err
		}
		w.path = w.path[:len(w.path)-1]
	}
}

// list scans an array after its bracket.
func (w *walker) list(p *plan) error {
	n, elem, most := 0, p.elem(), MaxValues
	if elem.plan.objects {
		most = w.maxObjects
	}
	for ; ; n++ {
		c := w.next()
		if c == ']' {
			w.at++
			break
		}
		if n > 0 {
			if c != ',' {
				w.broken = true
				return nil
			}
			w.at++
			c = w.next()
		}
		if elem.plan.objects && c != '{' && c != 'n' && c != 0 {
			return &Mismatch{Field: strings.Join(w.path, "."), Got: wordOf(c)}
		}
		if n < most {
			if err := w.addCost(elem); err != nil {
				return err
			}
		}
		if err := w.value(elem.plan); err != nil || w.broken {
			return err
		}
	}
	if n > most {
		return &TooMany{Field: strings.Join(w.path, "."), Len: n, Max: most}
	}
	return nil
}

// addCost adds the cost of a value.
func (w *walker) addCost(m member) error {
	if w.cost += m.size; w.cost > MaxCost {
		return &TooCostly{fmt.Sprintf("the values of the body would take more than %d MiB of memory; send them in several requests", MaxCost>>20)}
	}
	return nil
}

// next skips space and returns the byte after it; 0 at the end.
func (w *walker) next() byte {
	for ; w.at < len(w.text); w.at++ {
		switch c := w.text[w.at]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

// skipText skips a string and returns the text between its quotes, with its escapes.
func (w *walker) skipText() []byte {
	w.at++
	begin := w.at
	for {
		n := bytes.IndexByte(w.text[w.at:], '"')
		if n < 0 {
			w.broken = true
			w.at = len(w.text)
			return nil
		}
		w.at += n + 1
		escapes := 0
		for i := w.at - 2; i >= begin && w.text[i] == '\\'; i-- {
			escapes++
		}
		if escapes%2 == 0 {
			return w.text[begin : w.at-1]
		}
	}
}

// skipWord skips a number, true, false or null.
func (w *walker) skipWord() {
	begin := w.at
	for ; w.at < len(w.text); w.at++ {
		switch c := w.text[w.at]; {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '-', c == '+', c == '.', c == 'E':
		default:
			w.broken = w.broken || w.at == begin
			return
		}
	}
}

// wordOf returns the name that encoding/json has for a value that begins with c.
func wordOf(c byte) string {
	switch c {
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "bool"
	}
	return "number"
}
