package spec

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// nameIndex finds the expanded jobs, files or user data by their names.
type nameIndex struct {
	noun    string // job, file, user data
	names   []string
	byName  map[string]int32
	spans   []span
	matches map[string][]int32 // of regexes
}

// span says from which item on an item of the document provides the instances.
type span struct {
	start int32
	at    *node
}

func newNameIndex(noun string) *nameIndex {
	return &nameIndex{noun: noun, byName: map[string]int32{}, matches: map[string][]int32{}}
}

// grow makes room for more names.
func (x *nameIndex) grow(n int) {
	if len(x.byName) == 0 {
		x.byName = make(map[string]int32, n)
	}
	x.names = slices.Grow(x.names, n)
}

// origin is the item of the document that the i-th instance comes from.
func (x *nameIndex) origin(i int32) *node {
	k, found := slices.BinarySearchFunc(x.spans, i, func(s span, i int32) int { return int(s.start) - int(i) })
	if !found {
		k--
	}
	return x.spans[k].at
}

// addName adds an instance of an item.
func (b *builder) addName(x *nameIndex, at *node, name string) {
	i := int32(len(x.names))
	if len(x.spans) == 0 || x.spans[len(x.spans)-1].at != at {
		x.spans = append(x.spans, span{i, at})
	}
	x.names = append(x.names, name)
	where := at.get("name")
	if strings.TrimSpace(name) == "" {
		if where != at && where.kind == kindString { // otherwise reported already
			b.fail(where, "", "a %s needs a name", x.noun)
		}
		return
	}
	first, again := x.byName[name]
	if !again {
		x.byName[name] = i
		if strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			b.badName(where, name, x.noun)
		}
		return
	}
	if origin := x.origin(first); origin != at {
		line := ""
		if at := origin.get("name").spot().at; at.line > 0 {
			line = fmt.Sprintf(" in line %d", at.line)
		}
		b.fail(where, "names are unique; rename one", "the %s %s is already there%s", x.noun, clip(name), line)
		return
	}
	b.fail(where, "put the parameters that differ into the name, for example "+b.nameHint(at), "the %s %s comes out twice", x.noun, clip(name))
}

// badName reports control characters: NUL ends every C string; others only
// garble terminals.
func (b *builder) badName(where *node, name, noun string) {
	if strings.ContainsRune(name, 0) {
		b.fail(where, "", "the name of a %s cannot contain a NUL character", noun)
		return
	}
	b.warn(where, "", "the name %s contains control characters", clip(name))
}

// nameHint is a name with all parameters of an item.
func (b *builder) nameHint(at *node) string {
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

// selection is a list of names and a list of regexes that together select
// jobs, files or user data.
type selection struct {
	index    *nameIndex
	names    []template
	regexes  []template
	nameAt   *node
	regexAt  *node
	constant bool
	matched  []int32 // what the regexes selected, if constant
	listed   []int32 // what the names selected, if constant
	all      []int32 // both, if constant
}

// selectionOf prepares the two lists of an item, which stand under two keys.
func (b *builder) selectionOf(x *nameIndex, at *node, columns []string, key string, names []string, regexKey string, regexes []string) *selection {
	s := &selection{index: x, nameAt: at.get(key), regexAt: at.get(regexKey), constant: true}
	for _, n := range names {
		s.names = append(s.names, parseTemplate(n, columns))
	}
	for _, r := range regexes {
		s.regexes = append(s.regexes, parseTemplate(r, columns))
	}
	for _, t := range slices.Concat(s.names, s.regexes) {
		s.constant = s.constant && t.constant()
	}
	if s.constant {
		s.listed = b.indexes.keep(b.listed(s, nil))
		s.matched = b.matched(s, nil)
		s.all = union(s.listed, s.matched)
	}
	return s
}

// resolve returns what is selected for a row, ascending and without repeats.
// The result is shared and must not be changed.
func (b *builder) resolve(s *selection, row []Value) []int32 {
	if s.constant {
		return s.all
	}
	return b.indexes.keep(union(b.listed(s, row), b.matched(s, row)))
}

// listed looks the names up, in the order as written.
func (b *builder) listed(s *selection, row []Value) []int32 {
	found := b.found[:0]
	for k := range s.names {
		b.scratch = s.names[k].fill(b.scratch[:0], row)
		if i, ok := s.index.byName[string(b.scratch)]; ok {
			found = append(found, i)
			continue
		}
		b.unknownName(s.nameAt.item(k), "", s.index, string(b.scratch))
	}
	b.found = found[:0]
	return found
}

// unknownName reports a name that nothing has. It is the text n, or in the part
// of it that is given.
func (b *builder) unknownName(n *node, part string, x *nameIndex, name string) {
	const format = "there is no %s named %s"
	if b.repeated(n, format, x.noun, clip(name)) {
		return
	}
	hint := ""
	candidates := x.names[:min(len(x.names), 20_000)]
	if near := nearest(name, candidates); near != "" {
		hint = "did you mean " + near + "?"
	}
	family := slices.IndexFunc(candidates, func(c string) bool { return strings.HasPrefix(c, name+"_") })
	if family >= 0 {
		hint = fmt.Sprintf("there is %s; to select a whole family use a regex such as ^%s_", candidates[family], regexp.QuoteMeta(name))
	}
	if open := placeholder.FindString(name); open != "" {
		hint = open + " is no parameter of this item; to select a whole family use a regex"
	}
	b.failIn(n, part, hint, format, x.noun, clip(name))
}

var placeholder = regexp.MustCompile(`\{[A-Za-z_][A-Za-z0-9_]*(:[^}]*)?\}`)

// matched returns what the regexes select.
func (b *builder) matched(s *selection, row []Value) []int32 {
	var all []int32
	for k := range s.regexes {
		all = union(all, b.match(s.index, s.regexAt.item(k), string(s.regexes[k].fill(nil, row))))
	}
	return all
}

// match returns what a regex selects. It is searched for anywhere in the name.
func (b *builder) match(x *nameIndex, at *node, pattern string) []int32 {
	if found, ok := x.matches[pattern]; ok {
		if len(found) == 0 {
			b.noMatch(at, x, pattern)
		}
		return found
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		b.fail(at, "the syntax is RE2; write a literal dot as \\.", "%s is not a regular expression: %v", clip(pattern), strings.TrimPrefix(err.Error(), "error parsing regexp: "))
		return nil
	}
	var found []int32
	for i, name := range x.names {
		if re.MatchString(name) {
			found = append(found, int32(i))
		}
	}
	if len(found) == 0 {
		b.noMatch(at, x, pattern)
	}
	x.matches[pattern] = slices.Clip(found)
	return found
}

func (b *builder) noMatch(at *node, x *nameIndex, pattern string) {
	hint := "regexes see the names after expansion"
	if len(x.names) > 0 {
		hint += ", for example " + x.names[0]
	}
	if open := placeholder.FindString(pattern); open != "" {
		hint = open + " is no parameter of this item"
	}
	b.fail(at, hint, "the regex %s matches no %s", clip(pattern), x.noun)
}

// union merges two lists of indexes, ascending and without repeats. It returns
// one of them if the other adds nothing.
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

// ascending reports whether a list is sorted and without repeats.
func ascending(a []int32) bool {
	for i := 1; i < len(a); i++ {
		if a[i-1] >= a[i] {
			return false
		}
	}
	return true
}

// indexArena makes many small lists of indexes with few allocations.
type indexArena struct{ block []int32 }

// keep returns a copy of a list, nil if it is empty.
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
