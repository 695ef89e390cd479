package workflow

import (
	"fmt"
	"math"
	"path"
	"regexp"
	"slices"
)

// failureCauses are the causes that rules and breakers can be about. A sub-workflow
// job is not among them: nobody asks what to do about it, as its jobs are retried.
func failureCauses() []string {
	var kinds []string
	for _, k := range CauseKinds() {
		if !slices.Contains([]CauseKind{CauseOK, CauseNeverStarted, CauseCanceledUser, CauseCanceledAdmin, CauseSubWorkflow}, k) {
			kinds = append(kinds, string(k))
		}
	}
	return kinds
}

func (m *RuleMatch) validate(p *problems, at string) {
	for i, k := range m.Cause {
		p.oneOf(fmt.Sprintf("%s.cause[%d]", at, i), string(k), failureCauses()...)
	}
	p.oneOf(at+".component", string(m.Component), "", string(ComponentMain), string(ComponentRecovery))
	p.pattern(at+".stderr", m.Stderr)
	p.pattern(at+".termination_message", m.TerminationMessage)
	for i, glob := range m.Node {
		if _, err := path.Match(glob, ""); err != nil || glob == "" {
			p.add(fmt.Sprintf("%s.node[%d]", at, i), "write a name such as node7 or gpu*", "%q is no name of a node", glob)
		}
	}
	for i, n := range m.Signal {
		if n < 1 || n > 64 {
			p.add(fmt.Sprintf("%s.signal[%d]", at, i), "write its number, for example 9", "there is no signal %d", n)
		}
	}
	notEmpty(p, at+".cause", m.Cause)
	notEmpty(p, at+".signal", m.Signal)
	notEmpty(p, at+".category", m.Category)
	notEmpty(p, at+".subcategory", m.Subcategory)
	notEmpty(p, at+".node", m.Node)
	m.ExitCode.validate(p, at+".exit_code")
	m.Attempt.validate(p, at+".attempt")
	m.Elapsed.validate(p, at+".elapsed")
	m.conflicts(p, at)
}

// notEmpty refuses a list that is there and names nothing.
func notEmpty[T any](p *problems, at string, list []T) {
	if list != nil && len(list) == 0 {
		p.add(at, "remove the key to match any", "an empty list matches nothing")
	}
}

// conflicts finds matchers that can never hold together.
func (m *RuleMatch) conflicts(p *problems, at string) {
	if m.component() == ComponentRecovery && (m.Category != nil || m.Subcategory != nil) {
		p.add(at+".component", "use stderr, or remove component", "failures of recovery scripts have no categories")
	}
	if m.Cause == nil {
		return
	}
	has := func(kinds ...CauseKind) bool {
		return slices.ContainsFunc(kinds, func(k CauseKind) bool { return slices.Contains(m.Cause, k) })
	}
	if m.ByDrain != nil && !has(CauseWalltime) {
		p.add(at+".by_drain", "add walltime to cause or remove by_drain", "only walltime can be by our drain")
	}
	if m.OfCommand != nil && !has(CauseLaunch) {
		p.add(at+".of_command", "add launch to cause or remove of_command", "only a launch failure can be of the command")
	}
	if m.Signal != nil && !has(CauseSignal, CauseOOM, CauseWalltime, CauseTimeout, CausePreempted, CauseNodeFail, CauseDiskFull) {
		p.add(at+".signal", "remove one of the two", "attempts of these causes do not end by a signal")
	}
	others := func(kinds ...CauseKind) bool {
		return slices.ContainsFunc(m.Cause, func(k CauseKind) bool { return !slices.Contains(kinds, k) })
	}
	if !others(CauseLaunch, CauseLost) {
		p.without(at+".stderr", m.Stderr != "", "remove one of the two", "attempts of these causes have said nothing")
		p.without(at+".termination_message", m.TerminationMessage != "", "remove one of the two", "attempts of these causes have said nothing")
	}
	if m.component() == ComponentRecovery && !has(CauseExit, CauseSignal, CauseOOM, CauseTimeout, CauseWalltime, CauseLaunch, CauseDiskFull, CauseLost) {
		p.add(at+".cause", "write exit, signal, timeout, launch or lost, or remove component", "recovery scripts do not fail so")
	}
}

func (m *ExitCodeMatch) validate(p *problems, at string) {
	switch {
	case m == nil:
	case m.In == nil && m.NotIn == nil:
		p.add(at, "write in: [74] or not_in: [1]", "no codes are given")
	case m.In != nil && m.NotIn != nil:
		p.add(at, "remove one of them", "in and not_in exclude each other")
	case m.In != nil && len(m.In) == 0:
		p.add(at+".in", "name at least one code", "an empty list matches nothing")
	case m.NotIn != nil && len(m.NotIn) == 0:
		p.add(at+".not_in", "name at least one code", "an empty list excludes nothing")
	}
	if m == nil {
		return
	}
	p.codes(at+".in", m.In)
	p.codes(at+".not_in", m.NotIn)
}

// codes checks return codes of failures.
func (p *problems) codes(at string, list []int64) {
	for i, code := range list {
		if code != ReturnCodeLost && code != ReturnCodeUnknown && (code < 1 || code > 255) {
			p.add(fmt.Sprintf("%s[%d]", at, i), "return codes of failures are 1 to 255, -128 if nobody saw the end, and -1 if nobody knows more", "%d never matches", code)
		}
	}
}

func (m *AttemptMatch) validate(p *problems, at string) {
	if m == nil {
		return
	}
	if m.GTE == nil && m.LTE == nil {
		p.add(at, "write gte: 2", "no bound is given")
	}
	if m.GTE != nil && m.LTE != nil && *m.GTE > *m.LTE {
		p.add(at, "swap them", "no attempt is at least %d and at most %d", *m.GTE, *m.LTE)
	}
	p.attempt(at+".gte", m.GTE)
	p.attempt(at+".lte", m.LTE)
}

func (p *problems) attempt(at string, n *int64) {
	if n != nil && *n < 1 {
		p.add(at, "attempts count from 1", "there is no attempt %d", *n)
	}
}

func (m *ElapsedMatch) validate(p *problems, at string) {
	if m == nil {
		return
	}
	if m.GTE == "" && m.LT == "" {
		p.add(at, "write lt: 1m", "no bound is given")
	}
	p.duration(at+".gte", m.GTE)
	p.duration(at+".lt", m.LT)
	switch low, high := parsed(m.GTE, 0), parsed(m.LT, math.MaxInt64); {
	case m.GTE != "" && low >= high:
		p.add(at, "write the smaller one as gte", "nothing takes at least %s and less than %s", m.GTE, m.LT)
	case high == 0:
		p.add(at+".lt", "write lt: 1m", "nothing takes less than %s", m.LT)
	}
}

// maxPattern is how many bytes a pattern may have: it is compiled for each
// failure.
const maxPattern = 4 << 10

func (p *problems) pattern(at, pattern string) {
	if pattern == "" {
		return
	}
	if len(pattern) > maxPattern {
		p.add(at, "look for less of it", "a pattern of %d bytes is too long, at most %d are taken", len(pattern), maxPattern)
	} else if _, err := regexp.Compile(pattern); err != nil {
		p.add(at, "patterns are RE2: no lookarounds, no backreferences, at most 1000 repeats", "%v", err)
	}
}
