package retry

import (
	"cmp"
	"maps"
	"reflect"
	"slices"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// Simulator decides recorded attempts again, with other retry policies instead of those of
// their jobs and workflows. Failure handlers, policies of the queue, the server's default and
// the limits are the recorded ones; circuit breakers are given.
type Simulator struct {
	policies []workflow.RetryPolicy
	breakers breakerSimulator
	result   RetrySimulation
	jobs     map[[2]int64]*simulatedJob // by job and run
	rules    map[string]*RuleGrants
	counted  map[[2]int64]int64 // counted retries by workflow and run
	doubts   doubts
}

// simulatedJob is what is known of the attempts of a job in a run so far.
type simulatedJob struct {
	attempt  int64              // the latest
	status   workflow.JobStatus // after it
	decision workflow.Decision  // the recorded decision about it
	recorded workflow.History
	// The state under the simulated policies.
	history workflow.History
	avoided []workflow.AvoidedNode
	changed bool // the latest retry would have been different
	stopped bool
}

// NewSimulator returns a simulator without attempts. The policies must be valid.
func NewSimulator(policies []workflow.RetryPolicy, breakers SimulatedBreakers) *Simulator {
	return &Simulator{
		policies: policies, breakers: newBreakerSimulator(breakers),
		jobs: map[[2]int64]*simulatedJob{}, rules: map[string]*RuleGrants{}, counted: map[[2]int64]int64{},
	}
}

// Add adds a recorded attempt. Attempts must be added in the order in which they ended.
func (s *Simulator) Add(a *RecordedAttempt) {
	key := [2]int64{a.JobID, a.RunID}
	j := s.jobs[key]
	switch {
	case j == nil:
		if a.AttemptID != 1 {
			s.doubts.missing++
		}
		j = s.begin(key)
	case !j.decision.Retries() || a.AttemptID != j.attempt+1:
		if s.end(&s.result, j); a.AttemptID != j.attempt+1 {
			s.doubts.missing++
		} else {
			s.doubts.anew++
		}
		j = s.begin(key)
	case !j.stopped:
		s.follows(j, a)
	}
	asked := s.asked(j, a)
	s.takeRecorded(a, asked)
	if !j.stopped {
		s.take(j, a, asked)
	}
	j.recorded = j.recorded.After(a.Decision)
	j.attempt, j.status, j.decision = a.AttemptID, a.Status, a.Decision
}

// begin starts a sequence of attempts.
func (s *Simulator) begin(key [2]int64) *simulatedJob {
	s.result.Sequences++
	s.jobs[key] = &simulatedJob{}
	return s.jobs[key]
}

// end counts how a sequence ended.
func (s *Simulator) end(r *RetrySimulation, j *simulatedJob) {
	r.Recorded.Outcomes.count(j.status, j.decision)
	switch {
	case j.stopped: // was counted then
	case j.decision.Retries():
		r.Simulated.Outcomes.Open++
	default:
		r.Simulated.Outcomes.TriedAgain++
	}
}

// follows counts what is uncertain about an attempt that followed a simulated retry.
func (s *Simulator) follows(j *simulatedJob, a *RecordedAttempt) {
	if j.changed {
		s.doubts.conditions++
	}
	began := cmp.Or(workflow.OrZero(a.StartedMS), workflow.OrZero(a.EndedMS))
	if slices.ContainsFunc(j.avoided, func(n workflow.AvoidedNode) bool { return n.Node == a.Node && (n.UntilMS == 0 || n.UntilMS > began) }) {
		s.doubts.avoided++
	}
}

// takeRecorded counts an attempt as recorded.
func (s *Simulator) takeRecorded(a *RecordedAttempt, asked workflow.Decision) {
	s.result.Recorded.attempt(a)
	if a.Decision.Retries() && asked.Rule == a.Decision.Rule {
		s.result.Recorded.delay(a, asked)
	}
	s.granted(&s.result.Recorded, a.Decision)
}

// take decides an attempt again; asked is the decision of the recorded policies.
func (s *Simulator) take(j *simulatedJob, a *RecordedAttempt, asked workflow.Decision) {
	t := &s.result.Simulated
	t.attempt(a)
	s.breakers.began(a)
	j.history.AttemptID = a.AttemptID
	d := s.decide(j, a)
	s.granted(t, d)
	j.history = j.history.After(d)
	j.changed = d.Retries() && !a.ByClient && !sameConditions(d, asked)
	if j.stopped = !d.Retries(); j.stopped {
		t.Outcomes.count(a.Status, d)
		return
	}
	t.delay(a, d)
	j.avoided = d.Avoid.Extend(j.avoided, a.Node, workflow.OrZero(a.EndedMS))
}

// asked returns the decision of the recorded policies about an attempt, with the retries
// recorded before it. How much of the run's budget all jobs had used is unknown.
func (s *Simulator) asked(j *simulatedJob, a *RecordedAttempt) workflow.Decision {
	p, h := a.policies(), j.recorded
	p.MaxRetriesTotal, h.AttemptID = nil, a.AttemptID
	return Decide(Facts{JobID: a.JobID, RunID: a.RunID, Policies: p, History: h, Failure: a.failure()}).Decision
}

// policies returns the policies that decided, or the built-in one if they are unknown.
func (a *RecordedAttempt) policies() Policies {
	if a.Policies == nil {
		return Policies{Default: DefaultPolicy()}
	}
	return *a.Policies
}

// unasked reports whether the attempt failed without a decision of a policy.
func (a *RecordedAttempt) unasked() bool {
	switch d := &a.Decision; d.Rule {
	case workflow.TimeoutQueue.String(), workflow.TimeoutTotal.String():
		return true
	default:
		return d.Action == workflow.ActionFail && d.Rule == "" && d.PolicyHash == "" && !a.ByClient
	}
}

// ran reports whether the attempt had a process of its own. It had none if a timeout ended a
// waiting job, or if the job stands for a sub-workflow.
func (a *RecordedAttempt) ran() bool {
	return a.Decision.Rule != workflow.TimeoutQueue.String() && a.Decision.Rule != workflow.TimeoutTotal.String() && a.Cause.Kind != workflow.CauseSubWorkflow
}

// decide returns the decision of the simulated policies.
func (s *Simulator) decide(j *simulatedJob, a *RecordedAttempt) workflow.Decision {
	switch {
	case a.unasked():
		if s.doubts.unasked++; a.ran() {
			f := a.failure()
			s.breakers.failed(a, &f)
		}
		return a.Decision
	case a.ByClient:
		if a.Decision.Action != workflow.ActionNone {
			s.doubts.byClient++
			f := a.failure()
			s.breakers.failed(a, &f)
		}
		return a.Decision
	}
	f, p, run := a.failure(), a.policies(), [2]int64{a.WorkflowID, a.RunID}
	p.Job, p.Workflow, p.Missing = nil, s.policies, nil
	h := j.history
	h.WorkflowRetries = s.counted[run]
	d := Decide(Facts{JobID: a.JobID, RunID: a.RunID, Policies: p, History: h, Failure: f, Breakers: s.breakers.openFor(a)}).Decision
	if d.Action == workflow.ActionNone {
		return d
	}
	if a.Policies == nil {
		s.doubts.unknown++
	}
	if s.cutStderr(&a.Evidence) {
		s.doubts.stderr++
	}
	if d.Action == workflow.ActionHold {
		s.breakers.held(a, d.Rule, &f)
	}
	s.breakers.failed(a, &f)
	if d.Counted {
		s.counted[run]++
	}
	return d
}

// cutStderr reports whether a simulated pattern was not found in an output that
// was longer than what is kept of it.
func (s *Simulator) cutStderr(e *workflow.Evidence) bool {
	const kept = 4<<10 - 3 // a character may be cut
	return len(e.StderrTail) >= kept && slices.ContainsFunc(s.policies, func(p workflow.RetryPolicy) bool {
		return slices.ContainsFunc(p.Rules, func(r workflow.RetryRule) bool { return !workflow.MatchesStderr(r.When.Stderr, e) })
	})
}

// sameConditions reports whether two retries would have been made in the same way.
func sameConditions(a, b workflow.Decision) bool {
	return b.Retries() && a.RecoveryScript == b.RecoveryScript && reflect.DeepEqual(a.Mutate, b.Mutate)
}

// granted counts a retry for a tally and for its rule.
func (s *Simulator) granted(t *RetryTally, d workflow.Decision) {
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
	for _, n := range []*workflow.RuleCount{&t.Retries, ofRule} {
		if d.Counted {
			n.Counted++
		} else {
			n.Free++
		}
	}
}

// Result returns what has been found so far.
func (s *Simulator) Result() RetrySimulation {
	r := s.result
	for _, j := range s.jobs {
		s.end(&r, j)
	}
	r.Rules = make([]RuleGrants, 0, len(s.rules))
	for _, rule := range slices.SortedFunc(maps.Values(s.rules), func(a, b *RuleGrants) int { return cmp.Compare(a.Rule, b.Rule) }) {
		r.Rules = append(r.Rules, *rule)
	}
	var kept int64
	r.Breakers = []SimulatedTrip{}
	for _, t := range s.breakers.trips {
		if kept += t.Kept; len(r.Breakers) < shownTrips {
			r.Breakers = append(r.Breakers, *t)
		}
	}
	r.BreakersOpened = int64(len(s.breakers.trips))
	r.Notes = s.doubts.notes(r.Simulated.Outcomes.TriedAgain, kept)
	return r
}

// delay adds how long a retry waits.
func (t *RetryTally) delay(a *RecordedAttempt, d workflow.Decision) {
	t.DelaySeconds += d.Jitter.Apply(d.Delay, workflow.UnitHash(a.JobID, a.RunID, a.AttemptID)).Seconds()
}
