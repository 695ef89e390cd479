package spec

import (
	"fmt"
	"slices"
	"strings"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// nameIndex finds the expanded jobs, files or user data by their names.
type nameIndex struct {
	*report
	noun   string // job, file, user data
	names  []string
	byName map[string]int32
	spans  []span
	// ambiguous says that there are duplicate names.
	ambiguous bool
	matches   map[string][]int32 // of regexes
	nothing   *selection         // shared by all empty selections
	// inOrder and sorted are all instances, as expanded and by name; nil until regexes need
	// them.
	inOrder, sorted []int32
	searches        int // regexes so far
	comparisons     int
}

// span has the first instance of an item of the document.
type span struct {
	start int32
	at    *node
}

func newNameIndex(r *report, noun string) *nameIndex {
	x := &nameIndex{report: r, noun: noun, byName: map[string]int32{}, matches: map[string][]int32{}}
	x.nothing = &selection{index: x, constant: true}
	return x
}

// grow reserves room for more names.
func (x *nameIndex) grow(n int) {
	if len(x.byName) == 0 {
		x.byName = make(map[string]int32, n)
	}
	x.names = slices.Grow(x.names, n)
}

// origin returns the item of the document for the i-th instance.
func (x *nameIndex) origin(i int32) *node {
	k, found := slices.BinarySearchFunc(x.spans, i, func(s span, i int32) int { return int(s.start) - int(i) })
	if !found {
		k--
	}
	return x.spans[k].at
}

// add adds an instance of an item.
func (x *nameIndex) add(at *node, name string) {
	i := int32(len(x.names))
	if len(x.spans) == 0 || x.spans[len(x.spans)-1].at != at {
		x.spans = append(x.spans, span{i, at})
	}
	x.names = append(x.names, name)
	where := at.get("name")
	if strings.TrimSpace(name) == "" {
		if where != at && where.kind == kindString { // otherwise already reported
			x.fail(where, "write one between the quotes", "a %s needs a name", x.noun)
		}
		return
	}
	first, again := x.byName[name]
	if !again {
		x.byName[name] = i
		x.failDomain(where, workflow.CheckName(x.noun, name))
		return
	}
	x.ambiguous = true
	if origin := x.origin(first); origin != at {
		line := ""
		if at := origin.get("name").spot().at; at.line > 0 {
			line = fmt.Sprintf("; the first one is in line %d", at.line)
		}
		x.fail(where, "names must be unique; rename one", "duplicate %s %s%s", x.noun, clip(name), line)
		return
	}
	x.fail(where, "put the parameters that differ into the name, for example "+nameHint(at), "the parameters give the name of the %s %s twice", x.noun, clip(name))
}

// nameHint returns a name with all parameters of an item.
func nameHint(at *node) string {
	text := at.get("name").text
	if ps := at.child("parameters"); ps != nil {
		for _, p := range ps.items {
			if !strings.Contains(text, "{"+p.key) {
				text += "_{" + p.key + "}"
			}
		}
	}
	return text
}
