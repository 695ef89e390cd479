package spec

import "strings"

// names are the names of a section that is not expanded.
type names struct {
	noun  string
	known []string
	index map[string]int   // into the section of the definition
	first map[string]*node // where the item is
}

func newNames(noun string) *names {
	return &names{noun: noun, index: map[string]int{}, first: map[string]*node{}}
}

// addTo notes the name of the item that comes next into the definition.
func (b *builder) addTo(x *names, next int, at *node, name string) {
	where := at.get("name")
	switch {
	case strings.TrimSpace(name) == "":
		if where != at && where.kind == kindString { // otherwise reported already
			b.fail(where, "", "a %s needs a name", x.noun)
		}
	case x.first[name] != nil:
		b.fail(where, "names are unique; rename one", "the %s %s is already there", x.noun, clip(name))
	default:
		x.known = append(x.known, name)
		x.first[name], x.index[name] = at, next
	}
}

// check reports a name that the section does not have.
func (b *builder) check(x *names, n *node, name string) {
	const format = "there is no %s named %s"
	if x.first[name] != nil || b.repeated(n, format, x.noun, clip(name)) {
		return
	}
	hint := "the specification has none"
	if near := nearest(name, x.known); near != "" {
		hint = "did you mean " + near + "?"
	} else if len(x.known) > 0 {
		hint = "there is " + strings.Join(x.known[:min(len(x.known), 10)], ", ")
	}
	b.fail(n, hint, format, x.noun, clip(name))
}
