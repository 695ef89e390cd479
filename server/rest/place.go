package rest

import "fmt"

// place is the position of a value in a body.
type place struct {
	in   *place // nil for the body itself
	name string // of the field; empty for an item of a list
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

// within returns the place as the end of an error message.
func (p *place) within() string {
	if p == nil {
		return ""
	}
	return " in " + p.String()
}
