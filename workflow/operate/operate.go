// Package operate decides what happens to a job that a user cancels, holds, releases or
// prioritizes.
package operate

import (
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// Verb is what a user does with jobs.
type Verb string

// The verbs.
const (
	Cancel     Verb = "cancel"
	Hold       Verb = "hold"
	Release    Verb = "release"
	Prioritize Verb = "prioritize"
)

// Past returns the verb as a participle: "canceled".
func (v Verb) Past() string {
	return map[Verb]string{Cancel: "canceled", Hold: "held", Release: "released", Prioritize: "prioritized"}[v]
}

// Effect is what happens to a job.
type Effect string

// The effects.
const (
	Changed   Effect = "changed"   // at once
	Ending    Effect = "ending"    // its runner ends it, and reports how it ended
	Unchanged Effect = "unchanged" // it is as the user wants it
	Rejected  Effect = "rejected"  // it stays as it is
)

// Part is the part of a workflow that a job belongs to.
type Part string

// The parts.
const (
	PartMain         Part = ""             // the workflow itself, or a sub-workflow that has begun
	PartNotBegun     Part = "not_begun"    // a sub-workflow that has not begun
	PartEnd          Part = "end"          // the end job
	PartCompensation Part = "compensation" // a compensation
)

// JobFacts is what a decision about a job depends on.
type JobFacts struct {
	Status     workflow.JobStatus
	Part       Part
	Recovering bool // its recovery script runs
	Canceling  bool // its runner was told to end it, because a user or a failed job canceled it
	// Unreachable says that a runner of torc holds it, which cannot be told to end it.
	Unreachable bool
	Held        bool // by a user
	Priority    int64
	// NewPriority is the one that it gets by Prioritize.
	NewPriority int64
}

// EffectOf returns what a verb does to a job, and why if it changes nothing.
func EffectOf(v Verb, f JobFacts) (Effect, string) {
	if f.Part == PartCompensation || f.Part == PartEnd && v != Prioritize {
		return Rejected, partReason(f.Part)
	}
	switch v {
	case Cancel:
		return cancel(f)
	case Hold:
		return hold(f)
	case Release:
		if !f.Held {
			return Unchanged, "it is not held by a user"
		}
		return Changed, ""
	}
	switch {
	case f.Status.IsComplete():
		return Rejected, ended(f)
	case f.Priority == f.NewPriority:
		return Unchanged, fmt.Sprintf("its priority is %d", f.Priority)
	}
	return Changed, ""
}

func cancel(f JobFacts) (Effect, string) {
	switch {
	case f.Status == workflow.Canceled:
		return Unchanged, "it is canceled"
	case f.Status.IsComplete():
		return Rejected, ended(f)
	case f.Status == workflow.Uninitialized:
		return Rejected, "it is not part of a run yet: start the workflow, or delete the job"
	case f.Part == PartNotBegun:
		return Rejected, "its sub-workflow has not begun: cancel that, or hold the job"
	case !f.Status.IsLive(), f.Recovering:
		return Changed, ""
	case f.Unreachable:
		return Rejected, "it is held by a runner of torc, which cannot be told to end it"
	case f.Canceling:
		return Unchanged, "its runner is ending it"
	}
	return Ending, ""
}

func hold(f JobFacts) (Effect, string) {
	switch {
	case f.Held:
		return Unchanged, "it is held by a user"
	case f.Status.IsComplete():
		return Rejected, ended(f)
	case f.Status == workflow.PendingFailed:
		return Rejected, "it waits for a classification (holds resolve)"
	case f.Status.IsLive():
		return Rejected, fmt.Sprintf("it is %s: `jobs cancel` ends it", f.Status)
	}
	return Changed, ""
}

func ended(f JobFacts) string { return fmt.Sprintf("it has ended: %s", f.Status) }

func partReason(p Part) string {
	if p == PartEnd {
		return "it is the end job, which ends by its timeout"
	}
	return "it belongs to a compensation, which only a cancel of the workflow ends"
}
