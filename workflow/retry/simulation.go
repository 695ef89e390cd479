package retry

import (
	"fmt"
	"time"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// RecordedAttempt is an attempt that has ended, with what a simulation of other
// retry policies needs besides.
type RecordedAttempt struct {
	workflow.Attempt
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
	// Breakers are the circuit breakers that would have opened, the first first, at
	// most 100 of BreakersOpened.
	Breakers       []SimulatedTrip `json:"breakers"`
	BreakersOpened int64           `json:"breakers_opened"`
	// Notes say what the numbers do not: what was not known or had to be assumed.
	Notes []string `json:"notes"`
}

// RetryTally is what came of the attempts under some policies.
type RetryTally struct {
	Retries   workflow.RuleCount `json:"retries"`
	Attempts  int64              `json:"attempts"`
	CoreHours float64            `json:"core_hours"` // CPUs of the requirement × elapsed
	// DelaySeconds is how long backoffs had the retries wait, all together.
	DelaySeconds float64       `json:"delay_seconds"`
	Outcomes     RetryOutcomes `json:"outcomes"` // of the sequences
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
	Rule      string             `json:"rule"`
	Recorded  workflow.RuleCount `json:"recorded"`
	Simulated workflow.RuleCount `json:"simulated"`
}

// failure is the attempt as rules look at it.
func (a *RecordedAttempt) failure() workflow.Failure {
	c := a.Cause
	c.Status, c.ReturnCode = a.Status, a.ReturnCode
	return workflow.Failure{Cause: c, Evidence: a.Evidence, Node: a.Node, Elapsed: a.elapsed()}
}

// elapsed is 0 if the start or the end is not known.
func (a *RecordedAttempt) elapsed() time.Duration {
	if a.StartedMS == nil || a.EndedMS == nil {
		return 0
	}
	return max(0, time.Duration(*a.EndedMS-*a.StartedMS)*time.Millisecond)
}

func (t *RetryTally) attempt(a *RecordedAttempt) {
	t.Attempts++
	t.CoreHours += a.elapsed().Hours() * float64(a.CPUs)
}

// count notes how a sequence ended with an attempt of a status.
func (o *RetryOutcomes) count(status workflow.JobStatus, d workflow.Decision) {
	switch {
	case d.Retries():
		o.Open++
	case d.Action == workflow.ActionHold:
		o.Held++
	case status == workflow.Completed:
		o.Completed++
	case status == workflow.Canceled:
		o.Canceled++
	default:
		o.Failed++
	}
}

// doubts count what makes a simulation less than certain.
type doubts struct {
	missing, anew, byClient, unasked, unknown, stderr, conditions, avoided int64
}

// notes say them in sentences.
func (d *doubts) notes(triedAgain, kept int64) []string {
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
	add(d.unasked, "ended without a policy being asked: %d (timeouts.queue, timeouts.total, or a retry that fits nowhere); taken as they were")
	add(d.unknown, "decided by policies that are not known any more: %d; the built-in default and no other limits are assumed")
	add(d.conditions, "retried in another way (memory, time, recovery script): %d; the attempt that followed is taken as it was")
	add(d.avoided, "attempts on a node that the job would have kept away from: %d; taken as they were")
	add(kept, "attempts that began while an open circuit breaker would have kept them from it: %d; taken as they were")
	add(d.stderr, "failures with a long standard error output: %d; only the part that is kept, its last 4 KiB, could be searched")
	return notes
}
