package workflow

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// shadows returns the earlier rules that together match every failure that rule i matches;
// nil if rule i can apply. It does not compare patterns, so it may miss rules that never
// apply.
func (p *RetryPolicy) shadows(i int) []int {
	var by []int
	kinds := p.Rules[i].When.Cause
	if kinds == nil {
		for _, k := range failureCauses() {
			kinds = append(kinds, CauseKind(k))
		}
	}
	for _, k := range kinds {
		of := p.Rules[i].When
		of.Cause = []CauseKind{k}
		first := slices.IndexFunc(p.Rules[:i], func(r RetryRule) bool { return r.When.covers(&of) })
		if first < 0 {
			return nil
		}
		if !slices.Contains(by, first) {
			by = append(by, first)
		}
	}
	slices.Sort(by)
	return by
}

// shadow adds a problem if rule i can never apply.
func (p *RetryPolicy) shadow(found *problems, i int) {
	by := p.shadows(i)
	if by == nil {
		return
	}
	at := fmt.Sprintf("rules[%d]", i)
	if n := by[0]; p.Rules[n].When.isEmpty() {
		found.add(at, "put the rule that matches everything last", "this rule never applies: rules[%d] matches all failures", n)
		return
	}
	earlier := make([]string, len(by))
	for k, n := range by {
		earlier[k] = fmt.Sprintf("rules[%d]", n)
	}
	found.add(at, "remove it, or move it up", "this rule never applies: its failures are matched by %s", strings.Join(earlier, ", "))
}

// covers reports whether m matches every failure that o matches.
func (m *RuleMatch) covers(o *RuleMatch) bool {
	return m.component() == o.component() &&
		coversList(m.Cause, o.Cause) &&
		m.ExitCode.covers(o.ExitCode) &&
		coversList(m.Signal, o.Signal) &&
		coversText(m.Stderr, o.Stderr) &&
		coversText(m.TerminationMessage, o.TerminationMessage) &&
		coversList(m.Category, o.Category) &&
		coversList(m.Subcategory, o.Subcategory) &&
		coversList(m.Node, o.Node) &&
		m.Attempt.covers(o.Attempt) &&
		m.Elapsed.covers(o.Elapsed) &&
		coversFlag(m.ByDrain, o.ByDrain) &&
		coversFlag(m.OfCommand, o.OfCommand)
}

func coversList[T comparable](m, o []T) bool {
	return m == nil || o != nil && !slices.ContainsFunc(o, func(v T) bool { return !slices.Contains(m, v) })
}

func coversText(m, o string) bool { return m == "" || m == o }

func coversFlag(m, o *bool) bool { return m == nil || o != nil && *m == *o }

func (m *ExitCodeMatch) covers(o *ExitCodeMatch) bool {
	switch {
	case m == nil:
		return true
	case o == nil:
		return false
	case o.In != nil:
		return !slices.ContainsFunc(o.In, func(code int64) bool {
			return slices.Contains(m.NotIn, code) || m.In != nil && !slices.Contains(m.In, code)
		})
	}
	return m.In == nil && coversList(o.NotIn, m.NotIn)
}

func (m *AttemptMatch) covers(o *AttemptMatch) bool {
	low, high := m.bounds()
	olow, ohigh := o.bounds()
	return low <= olow && ohigh <= high
}

func (m *AttemptMatch) bounds() (low, high int64) {
	low, high = 1, math.MaxInt64
	if m != nil && m.GTE != nil {
		low = *m.GTE
	}
	if m != nil && m.LTE != nil {
		high = *m.LTE
	}
	return low, high
}

func (m *ElapsedMatch) covers(o *ElapsedMatch) bool {
	low, high := m.bounds()
	olow, ohigh := o.bounds()
	return low <= olow && ohigh <= high
}

func (m *ElapsedMatch) bounds() (low, high time.Duration) {
	if m == nil {
		return 0, math.MaxInt64
	}
	return durationOr(m.GTE, 0), durationOr(m.LT, math.MaxInt64)
}
