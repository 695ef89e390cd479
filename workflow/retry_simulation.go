package workflow

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"
)

// RecordedAttempt is an attempt that has ended, with what a simulation of other
// retry policies needs besides.
type RecordedAttempt struct {
	Attempt
	CPUs int64 // of the job's requirement
	// Policies are those that decided; nil if they are not known.
	Policies *Policies
	// ByClient says that a torc client reported it, which decides itself.
	ByClient bool
}

// RetrySimulation compares what retry policies did with what others would have
// done to the same attempts.
type RetrySimulation struct {
	// Sequences are the attempts of a job in a run, up to where somebody began it
	// anew by hand.
	Sequences int64        `json:"sequences"`
	Recorded  RetryTally   `json:"recorded"`
	Simulated RetryTally   `json:"simulated"`
	Rules     []RuleGrants `json:"rules"` // those that granted a retry, by key
	// Notes say what the numbers do not: what was not known or had to be assumed.
	Notes []string `json:"notes"`
}

// RetryTally is what came of the attempts under some policies.
type RetryTally struct {
	Retries   RuleCount     `json:"retries"`
	Attempts  int64         `json:"attempts"`
	CoreHours float64       `json:"core_hours"` // CPUs of the requirement × elapsed
	Outcomes  RetryOutcomes `json:"outcomes"`   // of the sequences
}

// RetryOutcomes counts how sequences of attempts ended.
type RetryOutcomes struct {
	Completed int64 `json:"completed"`
	Failed    int64 `json:"failed"`
	Held      int64 `json:"held"`
	Canceled  int64 `json:"canceled"`
	// Open are those whose last retry has no attempt in the records: it waits, it
	// runs, or it was canceled or its recovery script failed.
	Open int64 `json:"open"`
	// TriedAgain are those that would have had an attempt that there never was:
	// nobody knows how it would have ended.
	TriedAgain int64 `json:"tried_again"`
}

// RuleGrants are the retries that a rule has granted, and those that it would have.
type RuleGrants struct {
	Rule      string    `json:"rule"`
	Recorded  RuleCount `json:"recorded"`
	Simulated RuleCount `json:"simulated"`
}

// RetrySimulator decides recorded attempts anew, with retry policies in place of
// those of their jobs and workflows. Failure handlers, policies of the queue, the
// server's default and the limits are those of the records.
type RetrySimulator struct {
	policies []RetryPolicy
	result   RetrySimulation
	rules    map[string]*RuleGrants
	counted  map[[2]int64]int64 // counted retries by workflow and run
	doubts   doubts
}

// NewRetrySimulator returns a simulator of valid policies that has seen no attempt.
func NewRetrySimulator(policies []RetryPolicy) *RetrySimulator {
	return &RetrySimulator{policies: policies, rules: map[string]*RuleGrants{}, counted: map[[2]int64]int64{}}
}

// Add takes all recorded attempts of a job in a run, in their order.
func (s *RetrySimulator) Add(attempts []RecordedAttempt) {
	before := int64(0) // number of the attempt before
	for len(attempts) > 0 {
		n := sequenceLength(attempts)
		switch first := attempts[0].AttemptID; {
		case first != before+1:
			s.doubts.missing++
		case before > 0:
			s.doubts.anew++
		}
		s.sequence(attempts[:n])
		before, attempts = attempts[n-1].AttemptID, attempts[n:]
	}
}

// sequenceLength is how many attempts followed each other by recorded retries.
func sequenceLength(attempts []RecordedAttempt) int {
	for i := range attempts[1:] {
		if !attempts[i].Decision.Retries() || attempts[i+1].AttemptID != attempts[i].AttemptID+1 {
			return i + 1
		}
	}
	return len(attempts)
}

// sequence decides attempts until the simulated policies stop; what was recorded
// behind that is saved.
func (s *RetrySimulator) sequence(attempts []RecordedAttempt) {
	s.result.Sequences++
	h, stopped := History{}, false
	for i := range attempts {
		a, last := &attempts[i], i == len(attempts)-1
		recorded := &s.result.Recorded
		recorded.attempt(a)
		s.granted(recorded, a.Decision)
		if last {
			recorded.Outcomes.count(a.Status, a.Decision)
		}
		if stopped {
			continue
		}
		simulated := &s.result.Simulated
		simulated.attempt(a)
		h.AttemptID = a.AttemptID
		d := s.decide(a, h, !last)
		s.granted(simulated, d)
		h = h.Grant(d)
		switch stopped = !d.Retries(); {
		case stopped:
			simulated.Outcomes.count(a.Status, d)
		case last && a.Decision.Retries():
			simulated.Outcomes.Open++
		case last:
			simulated.Outcomes.TriedAgain++
		}
	}
}

// decide says what the simulated policies do; followed says that another attempt
// was recorded.
func (s *RetrySimulator) decide(a *RecordedAttempt, h History, followed bool) Decision {
	if a.ByClient {
		if a.Decision.Action != ActionNone {
			s.doubts.byClient++
		}
		return a.Decision
	}
	f := a.failure()
	p, run := Policies{Default: DefaultPolicy()}, [2]int64{a.WorkflowID, a.RunID}
	if a.Policies != nil {
		p = *a.Policies
	}
	was := Decide(p, History{AttemptID: h.AttemptID}, f) // as if no budget were used
	p.Job, p.Workflow, p.Missing = nil, s.policies, nil
	h.WorkflowRetries = s.counted[run]
	d := Decide(p, h, f)
	if d.Action == ActionNone {
		return d
	}
	if a.Policies == nil {
		s.doubts.unknown++
	}
	if p.MaxRetriesTotal != nil && h.WorkflowRetries >= *p.MaxRetriesTotal {
		s.doubts.total++
	}
	if s.cutStderr(&a.Evidence) {
		s.doubts.stderr++
	}
	if d.Retries() && followed && !sameConditions(d, was) {
		s.doubts.conditions++
	}
	if d.Counted {
		s.counted[run]++
	}
	return d
}

// failure is the attempt as rules look at it. What of its cause was not recorded
// follows from the evidence.
func (a *RecordedAttempt) failure() Failure {
	c := Classify(a.Evidence, ReturnCodes{}, nil)
	if c.Kind != a.Cause.Kind {
		c = a.Cause
	}
	c.Status, c.ReturnCode = a.Status, a.ReturnCode
	return Failure{Cause: c, Evidence: a.Evidence, Node: a.Node, Elapsed: a.elapsed()}
}

// elapsed is 0 if the start or the end is not known.
func (a *RecordedAttempt) elapsed() time.Duration {
	if a.StartedMS == nil || a.EndedMS == nil {
		return 0
	}
	return max(0, time.Duration(*a.EndedMS-*a.StartedMS)*time.Millisecond)
}

// cutStderr reports whether a simulated pattern was not found in an output that
// was longer than what is kept of it.
func (s *RetrySimulator) cutStderr(e *Evidence) bool {
	const kept = 4<<10 - 3 // a character may be cut
	return len(e.StderrTail) >= kept && slices.ContainsFunc(s.policies, func(p RetryPolicy) bool {
		return slices.ContainsFunc(p.Rules, func(r RetryRule) bool { return !matchesStderr(r.When.Stderr, e) })
	})
}

// sameConditions reports whether two retries would have been made in the same way.
func sameConditions(a, b Decision) bool {
	return b.Retries() && a.RecoveryScript == b.RecoveryScript && reflect.DeepEqual(a.Mutate, b.Mutate) && reflect.DeepEqual(a.Avoid, b.Avoid)
}

// granted counts a retry for a tally and for its rule.
func (s *RetrySimulator) granted(t *RetryTally, d Decision) {
	if !d.Retries() {
		return
	}
	rule := s.rules[d.Rule]
	if rule == nil {
		rule = &RuleGrants{Rule: d.Rule}
		s.rules[d.Rule] = rule
	}
	ofRule := &rule.Simulated
	if t == &s.result.Recorded {
		ofRule = &rule.Recorded
	}
	for _, n := range []*RuleCount{&t.Retries, ofRule} {
		if d.Counted {
			n.Counted++
		} else {
			n.Free++
		}
	}
}

func (t *RetryTally) attempt(a *RecordedAttempt) {
	t.Attempts++
	t.CoreHours += a.elapsed().Hours() * float64(a.CPUs)
}

// count notes how a sequence ended with an attempt of a status.
func (o *RetryOutcomes) count(status JobStatus, d Decision) {
	switch {
	case d.Retries():
		o.Open++
	case d.Action == ActionHold:
		o.Held++
	case status == Completed:
		o.Completed++
	case status == Canceled:
		o.Canceled++
	default:
		o.Failed++
	}
}

// Result returns what has been found so far.
func (s *RetrySimulator) Result() RetrySimulation {
	r := s.result
	r.Rules = make([]RuleGrants, 0, len(s.rules))
	for _, rule := range slices.SortedFunc(maps.Values(s.rules), func(a, b *RuleGrants) int { return cmp.Compare(a.Rule, b.Rule) }) {
		r.Rules = append(r.Rules, *rule)
	}
	r.Notes = s.doubts.notes(r.Simulated.Outcomes.TriedAgain)
	return r
}

// doubts count what makes a simulation less than certain.
type doubts struct {
	missing, anew, byClient, unknown, total, stderr, conditions int64
}

// notes say them in sentences.
func (d *doubts) notes(triedAgain int64) []string {
	notes := []string{}
	add := func(n int64, format string) {
		if n > 0 {
			notes = append(notes, fmt.Sprintf(format, n))
		}
	}
	add(triedAgain, "tried again: %d; how these attempts would have ended, and what they would have used, is not known and not counted")
	add(d.missing, "history missing: %d; attempts before these are not in the records, so their budgets begin here")
	add(d.anew, "begun anew by hand: %d (a reset, a retry or a classification); taken as they were, with budgets that begin there")
	add(d.byClient, "reported by torc's clients: %d; they decide themselves, so this is taken as it was")
	add(d.unknown, "decided by policies that are not known any more: %d; the built-in default and no other limits are assumed")
	add(d.conditions, "retried in another way (nodes, memory, time, recovery script): %d; the attempt that followed is taken as it was")
	add(d.stderr, "failures with a long standard error output: %d; only the part that is kept, its last 4 KiB, could be searched")
	add(d.total, "failures for which max_retries_total was used up: %d; it was given to jobs by their ids, not in the order in which they failed")
	return notes
}
