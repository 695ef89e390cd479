package spec

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// selection is a list of names and a list of regexes that select jobs, files or user data.
type selection struct {
	index    *nameIndex
	names    []template
	regexes  []template
	nameAt   *node
	regexAt  *node
	constant bool
	lenient  bool
	matched  []int32 // selected by regexes, if constant
	listed   []int32 // selected by names, if constant
	all      []int32 // both, if constant
}

// listing has two lists of an item.
type listing struct {
	key, regexKey  string
	names, regexes []string
	lenient        bool // a regex may match nothing
}

// selector resolves selections.
type selector struct {
	indexes indexArena
	name    []byte  // scratch
	found   []int32 // scratch
}

// prepare returns the selection of two lists of an item.
func (c *selector) prepare(x *nameIndex, at *node, columns []string, l listing) *selection {
	if len(l.names) == 0 && len(l.regexes) == 0 {
		return x.nothing
	}
	s := &selection{index: x, nameAt: at.get(l.key), regexAt: at.get(l.regexKey), constant: true, lenient: l.lenient}
	for _, n := range l.names {
		s.names = append(s.names, parseTemplate(n, columns))
	}
	for _, r := range l.regexes {
		s.regexes = append(s.regexes, parseTemplate(r, columns))
	}
	for _, t := range slices.Concat(s.names, s.regexes) {
		s.constant = s.constant && t.constant()
	}
	if s.constant {
		s.listed = c.indexes.keep(c.listed(s, nil))
		s.matched = s.match(nil)
		s.all = union(s.listed, s.matched)
	}
	return s
}

// resolve returns what is selected for a row, ascending and unique. The result is shared
// and must not be changed.
func (c *selector) resolve(s *selection, row []Value) []int32 {
	if s.constant {
		return s.all
	}
	return c.indexes.keep(union(c.listed(s, row), s.match(row)))
}

// listed returns the indexes of the names, in the order as written.
func (c *selector) listed(s *selection, row []Value) []int32 {
	found := c.found[:0]
	for k := range s.names {
		c.name = s.names[k].fill(c.name[:0], row)
		if i, ok := s.index.byName[string(c.name)]; ok {
			found = append(found, i)
			continue
		}
		s.index.unknown(s.nameAt.item(k), "", string(c.name))
	}
	c.found = found[:0]
	return found
}

// used returns what a job uses of one kind: what the command refers to, or else the list,
// and what the script and the regexes refer to.
func (c *selector) used(s *selection, r referenced, row []Value) []int32 {
	if len(r.command) == 0 && len(r.script) == 0 {
		return c.resolve(s, row)
	}
	listed, matched := s.listed, s.matched
	if !s.constant {
		listed, matched = c.listed(s, row), s.match(row)
	}
	if len(r.command) > 0 {
		listed = r.command
	}
	return c.indexes.keep(union(union(listed, r.script), matched))
}

// unknown reports an unknown name: the text n, or a part of it.
func (x *nameIndex) unknown(n *node, part, name string) {
	const format = "there is no %s named %s"
	if x.repeated(n, format, x.noun, clip(name)) {
		return
	}
	candidates := x.names[:min(len(x.names), 20_000)]
	hint := existing(x.names)
	if near := workflow.Nearest(name, candidates); near != "" {
		hint = "did you mean " + near + "?"
	}
	family := slices.IndexFunc(candidates, func(c string) bool { return strings.HasPrefix(c, name+"_") })
	if family >= 0 {
		hint = fmt.Sprintf("there is %s; to select a whole family use a regex such as ^%s_", candidates[family], regexp.QuoteMeta(name))
	}
	if open := placeholder.FindString(name); open != "" {
		hint = open + " is not a parameter of this item; to select a whole family use a regex"
	}
	x.failIn(n, part, hint, format, x.noun, clip(name))
}

var placeholder = regexp.MustCompile(`\{[A-Za-z_][A-Za-z0-9_]*(:[^}]*)?\}`)

// union merges two lists of indexes, ascending and unique. It returns one of them if the
// other adds nothing.
func union(a, b []int32) []int32 {
	if len(b) == 0 && ascending(a) {
		return a
	}
	if len(a) == 0 && ascending(b) {
		return b
	}
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// ascending reports whether a list is sorted and unique.
func ascending(a []int32) bool {
	for i := 1; i < len(a); i++ {
		if a[i-1] >= a[i] {
			return false
		}
	}
	return true
}

// indexArena stores many small lists of indexes in few allocations.
type indexArena struct{ block []int32 }

// keep returns a copy of a list; nil if it is empty.
func (a *indexArena) keep(list []int32) []int32 {
	if len(list) == 0 {
		return nil
	}
	const size = 16 << 10
	if len(list) > size/8 {
		return slices.Clone(list)
	}
	if cap(a.block)-len(a.block) < len(list) {
		a.block = make([]int32, 0, size)
	}
	from := len(a.block)
	a.block = append(a.block, list...)
	return a.block[from:len(a.block):len(a.block)]
}
