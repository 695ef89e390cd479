package workflow

import (
	"fmt"
	"math"
	"path"
	"regexp"
	"slices"
)

// failureCauses returns the causes that rules and breakers can name. The failure of a
// sub-workflow is not among them, because its jobs are retried instead.
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
			p.add(fmt.Sprintf("%s.node[%d]", at, i), "write a name such as node7 or gpu*", "invalid node name %q", glob)
		}
	}
	for i, n := range m.Signal {
		if n < 1 || n > 64 {
			p.add(fmt.Sprintf("%s.signal[%d]", at, i), "write its number, for example 9", "unknown signal %d", n)
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

// notEmpty adds a problem if a list is given but empty.
func notEmpty[T any](p *problems, at string, list []T) {
	if list != nil && len(list) == 0 {
		p.add(at, "remove the key to match any", "an empty list matches nothing")
	}
}

// conflicts finds keys that can never match together.
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
		p.add(at+".by_drain", "add walltime to cause or remove by_drain", "by_drain applies only to the cause walltime")
	}
	if m.OfCommand != nil && !has(CauseLaunch) {
		p.add(at+".of_command", "add launch to cause or remove of_command", "of_command applies only to the cause launch")
	}
	if m.Signal != nil && !has(CauseSignal, CauseOOM, CauseWalltime, CauseTimeout, CausePreempted, CauseNodeFail, CauseDiskFull) {
		p.add(at+".signal", "remove signal or cause", "attempts with these causes are not ended by a signal")
	}
	others := func(kinds ...CauseKind) bool {
		return slices.ContainsFunc(m.Cause, func(k CauseKind) bool { return !slices.Contains(kinds, k) })
	}
	if !others(CauseLaunch, CauseLost) {
		p.notAllowed(at+".stderr", m.Stderr != "", "remove stderr or cause", "attempts with these causes have no output")
		p.notAllowed(at+".termination_message", m.TerminationMessage != "", "remove termination_message or cause", "attempts with these causes have no message")
	}
	if m.component() == ComponentRecovery && !has(CauseExit, CauseSignal, CauseOOM, CauseTimeout, CauseWalltime, CauseLaunch, CauseDiskFull, CauseLost) {
		p.add(at+".cause", "write exit, signal, timeout, launch or lost, or remove component", "recovery scripts do not fail with these causes")
	}
}

func (m *ExitCodeMatch) validate(p *problems, at string) {
	switch {
	case m == nil:
	case m.In == nil && m.NotIn == nil:
		p.add(at, "write in: [74] or not_in: [1]", "no codes are given")
	case m.In != nil && m.NotIn != nil:
		p.add(at, "remove one of them", "in and not_in cannot be combined")
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

// codes checks a list of return codes.
func (p *problems) codes(at string, list []int64) {
	for i, code := range list {
		if code != ReturnCodeLost && code != ReturnCodeUnknown && (code < 1 || code > 255) {
			p.add(fmt.Sprintf("%s[%d]", at, i), "write 1 to 255, -128 for a lost attempt, or -1 for an unknown exit code", "%d never matches", code)
		}
	}
}

func (m *AttemptMatch) validate(p *problems, at string) {
	if m == nil {
		return
	}
	if m.GTE == nil && m.LTE == nil {
		p.add(at, "write gte: 2", "no limit is given")
	}
	if m.GTE != nil && m.LTE != nil && *m.GTE > *m.LTE {
		p.add(at, "swap them", "no attempt is at least %d and at most %d", *m.GTE, *m.LTE)
	}
	p.attempt(at+".gte", m.GTE)
	p.attempt(at+".lte", m.LTE)
}

func (p *problems) attempt(at string, n *int64) {
	if n != nil && *n < 1 {
		p.add(at, "attempts are numbered from 1", "there is no attempt %d", *n)
	}
}

func (m *ElapsedMatch) validate(p *problems, at string) {
	if m == nil {
		return
	}
	if m.GTE == "" && m.LT == "" {
		p.add(at, "write lt: 1m", "no limit is given")
	}
	p.duration(at+".gte", m.GTE)
	p.duration(at+".lt", m.LT)
	switch low, high := durationOr(m.GTE, 0), durationOr(m.LT, math.MaxInt64); {
	case m.GTE != "" && low >= high:
		p.add(at, "write the smaller one as gte", "no attempt takes at least %s and less than %s", m.GTE, m.LT)
	case high == 0:
		p.add(at+".lt", "write lt: 1m", "no attempt takes less than %s", m.LT)
	}
}

// maxPattern is the maximum length of a pattern in bytes. It is compiled for each failure.
const maxPattern = 4 << 10

func (p *problems) pattern(at, pattern string) {
	if pattern == "" {
		return
	}
	if len(pattern) > maxPattern {
		p.add(at, "shorten it", "the pattern has %d bytes, the limit is %d", len(pattern), maxPattern)
	} else if _, err := regexp.Compile(pattern); err != nil {
		p.add(at, "patterns are RE2: no lookarounds, no backreferences, at most 1000 repetitions", "%v", err)
	}
}
