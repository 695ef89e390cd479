package spec

import "fmt"

// part identifies a named part among others of its kind.
type part struct{ noun, name string }

// parts are the names of all parts of a specification.
type parts struct {
	*report
	jobs, files, userData              *nameIndex
	requirements, handlers, schedulers *names
	taken                              map[part]*node // from other files, with the node that refers to the file
}

func newParts(r *report) *parts {
	return &parts{
		report: r, taken: map[part]*node{},
		jobs: newNameIndex(r, "job"), files: newNameIndex(r, "file"), userData: newNameIndex(r, "user data record"),
		requirements: newNames(r, "resource_requirements"), handlers: newNames(r, "failure_handler"), schedulers: newNames(r, "slurm_scheduler"),
	}
}

// ambiguous reports whether there are duplicate names of jobs, files or user data.
func (p *parts) ambiguous() bool {
	return p.jobs.ambiguous || p.files.ambiguous || p.userData.ambiguous
}

// take records the name of a part from another file. It returns false, with an error, if
// the name is in use.
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
		line = fmt.Sprintf("; the first one is in line %d", place.line)
	}
	p.fail(at, "names must be unique, including the prefix of the file; rename one of the two", "this adds a duplicate %s %s%s", noun, clip(name), line)
	return false
}

// own returns where a part is written in this file; nil if it is not.
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

// partNames gives the parts of another file prefixed names.
type partNames struct {
	parts  *parts
	at     *node // refers to the other file
	prefix string
	clash  bool // a duplicate name was reported
}

// of returns and records the name of a part. It reports the first duplicate.
func (n *partNames) of(noun, name string) string {
	name = n.prefix + name
	if !n.clash {
		n.clash = !n.parts.take(n.at, noun, name)
	}
	return name
}
