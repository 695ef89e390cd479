package retry

import (
	"fmt"
	"time"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// RecordedAttempt is an attempt that has ended, with what a simulation of other retry
// policies needs in addition.
type RecordedAttempt struct {
	workflow.Attempt
	CPUs int64 // of the job's requirements
	// Policies are those that decided; nil if they are unknown.
	Policies *Policies
	// ByClient says that a torc client reported it, which decides itself.
	ByClient bool
}

// RetrySimulation compares the decisions of retry policies with those that other policies
// would have made about the same attempts.
type RetrySimulation struct {
	// Sequences is the number of sequences of attempts: those of a job in a run, until a user
	// restarts the job.
	Sequences int64        `json:"sequences"`
	Recorded  RetryTally   `json:"recorded"`
	Simulated RetryTally   `json:"simulated"`
	Rules     []RuleGrants `json:"rules"` // those that granted a retry, by key
	// Breakers are the circuit breakers that would have opened, in order, at most 100 of
	// BreakersOpened.
	Breakers       []SimulatedTrip `json:"breakers"`
	BreakersOpened int64           `json:"breakers_opened"`
	// Notes say what was unknown or had to be assumed.
	Notes []string `json:"notes"`
}

// RetryTally is the result of the attempts under certain policies.
type RetryTally struct {
	Retries   workflow.RuleCount `json:"retries"`
	Attempts  int64              `json:"attempts"`
	CoreHours float64            `json:"core_hours"` // CPUs of the requirement × elapsed
	// DelaySeconds is the sum of the backoff delays.
	DelaySeconds float64       `json:"delay_seconds"`
	Outcomes     RetryOutcomes `json:"outcomes"` // of the sequences
}

// RetryOutcomes counts how sequences of attempts ended.
type RetryOutcomes struct {
	Completed int64 `json:"completed"`
	Failed    int64 `json:"failed"`
	Held      int64 `json:"held"`
	Canceled  int64 `json:"canceled"`
	// Open counts those whose last retry has no recorded attempt: it waits, it runs, or it
	// was canceled, or its recovery script failed.
	Open int64 `json:"open"`
	// TriedAgain counts those that would have had one more attempt than was recorded, with
	// an unknown result.
	TriedAgain int64 `json:"tried_again"`
}

// RuleGrants are the retries that a rule granted, and those that it would have granted.
type RuleGrants struct {
	Rule      string             `json:"rule"`
	Recorded  workflow.RuleCount `json:"recorded"`
	Simulated workflow.RuleCount `json:"simulated"`
}

// failure returns what rules know of the attempt.
func (a *RecordedAttempt) failure() workflow.Failure {
	c := a.Cause
	c.Status, c.ReturnCode = a.Status, a.ReturnCode
	return workflow.Failure{Cause: c, Evidence: a.Evidence, Node: a.Node, Elapsed: a.elapsed()}
}

// elapsed returns how long the attempt ran; 0 if the start or the end is unknown.
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

// count counts a sequence whose last attempt ended with a status.
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

// doubts counts what makes a simulation uncertain.
type doubts struct {
	missing, anew, byClient, unasked, unknown, stderr, conditions, avoided int64
}

// notes returns the doubts as sentences.
func (d *doubts) notes(triedAgain, kept int64) []string {
	notes := []string{}
	add := func(n int64, format string) {
		if n > 0 {
			notes = append(notes, fmt.Sprintf(format, n))
		}
	}
	add(triedAgain, "tried again: %d; the results of these attempts and what they would have used are unknown and not counted")
	add(d.missing, "history missing: %d; earlier attempts are not recorded, so their budgets start here")
	add(d.anew, "restarted by a user: %d (a reset, a retry or a classification); taken as recorded, with budgets that start there")
	add(d.byClient, "reported by torc's clients: %d; they decide themselves, so these are taken as recorded")
	add(d.unasked, "ended without a policy: %d (timeouts.queue, timeouts.total, or a retry that fits nowhere); taken as recorded")
	add(d.unknown, "decided by policies that are no longer known: %d; the built-in default and no other limits are assumed")
	add(d.conditions, "retried in another way (memory, time, recovery script): %d; the attempt that followed is taken as recorded")
	add(d.avoided, "attempts on a node that the job would have avoided: %d; taken as recorded")
	add(kept, "attempts that an open circuit breaker would have prevented: %d; taken as recorded")
	add(d.stderr, "failures with a long standard error output: %d; only the stored part, its last 4 KiB, could be searched")
	return notes
}
