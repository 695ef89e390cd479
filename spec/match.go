package spec

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
)

// match returns what the regexes of a selection match for a row.
func (s *selection) match(row []Value) []int32 {
	var all []int32
	for k := range s.regexes {
		at, pattern := s.regexAt.item(k), string(s.regexes[k].fill(nil, row))
		found, ok := s.index.match(at, pattern)
		if ok && len(found) == 0 {
			s.noMatch(at, pattern)
		}
		all = union(all, found)
	}
	return all
}

// maxComparisons limits the work for regexes that differ between jobs.
const maxComparisons = 1_000_000_000

// match returns the instances whose names contain a match of a regex; ok is false if that
// is unknown.
func (x *nameIndex) match(at *node, pattern string) (found []int32, ok bool) {
	if found, ok := x.matches[pattern]; ok {
		return found, true
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		why := strings.TrimPrefix(err.Error(), "error parsing regexp: ")
		x.fail(at, "the syntax is RE2", "%s is not a regular expression: %s", clip(pattern), why)
		return nil, false
	}
	candidates := x.withPrefix(anchoredPrefix(pattern))
	if x.comparisons += len(candidates); x.comparisons > maxComparisons {
		x.fail(at, "start it with ^ and a fixed text, or list the names", "the regexes need more than %d comparisons", maxComparisons)
		return nil, false
	}
	for _, i := range candidates {
		if re.MatchString(x.names[i]) {
			found = append(found, i)
		}
	}
	slices.Sort(found)
	found = slices.Clip(found)
	x.matches[pattern] = found
	return found, true
}

// anchoredPrefix returns the text with which all matches of an anchored regex start.
func anchoredPrefix(pattern string) string {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil || re.Op != syntax.OpConcat || len(re.Sub) < 2 || re.Sub[0].Op != syntax.OpBeginText {
		return ""
	}
	if literal := re.Sub[1]; literal.Op == syntax.OpLiteral && literal.Flags&syntax.FoldCase == 0 {
		return string(literal.Rune)
	}
	return ""
}

// withPrefix returns instances that include all whose names start with a prefix. The first
// calls return all, since sorting is worthwhile only for many regexes.
func (x *nameIndex) withPrefix(prefix string) []int32 {
	const few = 30
	if x.inOrder == nil {
		x.inOrder = make([]int32, len(x.names))
		for i := range x.inOrder {
			x.inOrder[i] = int32(i)
		}
	}
	if x.searches++; prefix == "" || x.searches < few {
		return x.inOrder
	}
	if x.sorted == nil {
		x.sorted = slices.Clone(x.inOrder)
		slices.SortFunc(x.sorted, func(a, b int32) int { return strings.Compare(x.names[a], x.names[b]) })
	}
	from, _ := slices.BinarySearchFunc(x.sorted, prefix, func(i int32, p string) int { return strings.Compare(x.names[i], p) })
	to := from
	for to < len(x.sorted) && strings.HasPrefix(x.names[x.sorted[to]], prefix) {
		to++
	}
	return x.sorted[from:to]
}

// noMatch reports a regex that matches nothing.
func (s *selection) noMatch(at *node, pattern string) {
	hint := "regexes match the names after expansion"
	if len(s.index.names) > 0 {
		hint += ", for example " + s.index.names[0]
	}
	if open := placeholder.FindString(pattern); open != "" {
		hint = open + " is not a parameter of this item"
	}
	const format = "the regex %s matches no %s"
	if s.lenient {
		s.index.warn(at, hint, format, clip(pattern), s.index.noun)
		return
	}
	s.index.fail(at, hint, format, clip(pattern), s.index.noun)
}
