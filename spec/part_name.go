package spec

import "fmt"

// part is something that has a name among others of its kind.
type part struct{ noun, name string }

// partNames gives the parts of another file their names in this one: with a prefix
// in front.
type partNames struct {
	b      *builder
	at     *node // what brings them in
	prefix string
	clash  bool // two parts have one name, and that was said
}

// of returns the name of a part, and notes it. The first that something else has
// already is an error.
func (n *partNames) of(noun, name string) string {
	name = n.prefix + name
	if !n.clash {
		n.clash = !n.b.takeName(n.at, noun, name)
	}
	return name
}

// takeName notes the name of a part that is not written in this file itself. It
// returns false, with an error, if another one has it.
func (b *builder) takeName(at *node, noun, name string) bool {
	first := b.ownPart(noun, name)
	if first == nil {
		first = b.taken[part{noun, name}]
	}
	if first == nil {
		b.taken[part{noun, name}] = at
		return true
	}
	line := ""
	if place := first.spot().at; place.line > 0 {
		line = fmt.Sprintf(" in line %d", place.line)
	}
	b.fail(at, "names are unique, with what is put in front of them; rename one of the two", "this makes the %s %s, which is already there%s", noun, clip(name), line)
	return false
}

// ownPart is where a part is written in this file; nil if it is not.
func (b *builder) ownPart(noun, name string) *node {
	for _, x := range []*nameIndex{b.jobs, b.files, b.userData} {
		if x.noun != noun {
			continue
		}
		if i, known := x.byName[name]; known {
			return x.origin(i).get("name")
		}
	}
	for _, x := range []*names{b.requirements, b.handlers, b.schedulers} {
		if x.noun == noun && x.first[name] != nil {
			return x.first[name].get("name")
		}
	}
	return nil
}
