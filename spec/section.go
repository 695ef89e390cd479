package spec

import (
	"fmt"
	"strings"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// names are the names of a section that is not expanded.
type names struct {
	*report
	noun  string
	known []string
	index map[string]int   // index in the section of the definition
	first map[string]*node // where the item is
}

func newNames(r *report, noun string) *names {
	return &names{report: r, noun: noun, index: map[string]int{}, first: map[string]*node{}}
}

// add records the name of the next item.
func (x *names) add(next int, at *node, name string) {
	where := at.get("name")
	switch {
	case strings.TrimSpace(name) == "":
		if where != at && where.kind == kindString { // otherwise already reported
			x.fail(where, "write one between the quotes", "a %s needs a name", x.noun)
		}
	case x.first[name] != nil:
		x.fail(where, "names must be unique; rename one", "duplicate %s %s", x.noun, clip(name))
	default:
		x.failDomain(where, workflow.CheckName(strings.ReplaceAll(x.noun, "_", " "), name))
		x.known = append(x.known, name)
		x.first[name], x.index[name] = at, next
	}
}

// check reports a name that is not in the section.
func (x *names) check(n *node, name string) {
	const format = "there is no %s named %s"
	if x.first[name] != nil || x.repeated(n, format, x.noun, clip(name)) {
		return
	}
	hint := existing(x.known)
	if near := workflow.Nearest(name, x.known); near != "" {
		hint = "did you mean " + near + "?"
	}
	x.fail(n, hint, format, x.noun, clip(name))
}

// existing returns the existing names, as a hint.
func existing(known []string) string {
	const few = 10
	switch more := len(known) - few; {
	case len(known) == 0:
		return "the specification has none"
	case more > 0:
		return fmt.Sprintf("there is %s and %d more", strings.Join(known[:few], ", "), more)
	}
	return "there is " + strings.Join(known, ", ")
}
