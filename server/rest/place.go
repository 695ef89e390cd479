package rest

import "fmt"

// place is where in a body a value stands.
type place struct {
	in   *place // nil: in the body itself
	name string // of the field; empty: it is an item of a list
	item int
}

func (p *place) String() string {
	switch {
	case p == nil:
		return ""
	case p.name == "":
		return fmt.Sprintf("%s[%d]", p.in, p.item)
	case p.in == nil:
		return p.name
	default:
		return fmt.Sprintf("%s.%s", p.in, p.name)
	}
}

// within says where, at the end of an error's text.
func (p *place) within() string {
	if p == nil {
		return ""
	}
	return " in " + p.String()
}
