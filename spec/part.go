package spec

import "fmt"

// part is something that has a name among others of its kind.
type part struct{ noun, name string }

// parts are the names of all parts of a specification.
type parts struct {
	*report
	jobs, files, userData              *nameIndex
	requirements, handlers, schedulers *names
	taken                              map[part]*node // by what comes from other files, and what brought it
}

func newParts(r *report) *parts {
	return &parts{
		report: r, taken: map[part]*node{},
		jobs: newNameIndex(r, "job"), files: newNameIndex(r, "file"), userData: newNameIndex(r, "user data record"),
		requirements: newNames(r, "resource_requirements"), handlers: newNames(r, "failure_handler"), schedulers: newNames(r, "slurm_scheduler"),
	}
}

// ambiguous reports whether two jobs, two files or two user data records have one name.
func (p *parts) ambiguous() bool {
	return p.jobs.ambiguous || p.files.ambiguous || p.userData.ambiguous
}

// take notes the name of a part that is not written in this file itself. It
// returns false, with an error, if another one has it.
func (p *parts) take(at *node, noun, name string) bool {
	first := p.own(noun, name)
	if first == nil {
		first = p.taken[part{noun, name}]
	}
	if first == nil {
		p.taken[part{noun, name}] = at
		return true
	}
	line := ""
	if place := first.spot().at; place.line > 0 {
		line = fmt.Sprintf(" in line %d", place.line)
	}
	p.fail(at, "names are unique, with what is put in front of them; rename one of the two", "this makes the %s %s, which is already there%s", noun, clip(name), line)
	return false
}

// own is where a part is written in this file; nil if it is not.
func (p *parts) own(noun, name string) *node {
	for _, x := range []*nameIndex{p.jobs, p.files, p.userData} {
		if x.noun != noun {
			continue
		}
		if i, known := x.byName[name]; known {
			return x.origin(i).get("name")
		}
	}
	for _, x := range []*names{p.requirements, p.handlers, p.schedulers} {
		if x.noun == noun && x.first[name] != nil {
			return x.first[name].get("name")
		}
	}
	return nil
}

// partNames gives the parts of another file their names in this one: with a prefix
// in front.
type partNames struct {
	parts  *parts
	at     *node // what brings them in
	prefix string
	clash  bool // two parts have one name, and that was said
}

// of returns the name of a part, and notes it. The first that something else has
// already is an error.
func (n *partNames) of(noun, name string) string {
	name = n.prefix + name
	if !n.clash {
		n.clash = !n.parts.take(n.at, noun, name)
	}
	return name
}
