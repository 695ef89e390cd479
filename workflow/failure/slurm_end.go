package failure

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// Said is what Slurm says about the end of an allocation, a job or a step, and what
// else is known of it. The zero value of a field means that nothing is known of it.
type Said struct {
	OfStep     bool   // of a step, not of a job
	State      string // as Slurm writes it
	Reason     string
	ExitCode   string // as sacct writes it, for example 0:125
	CanceledBy string // user id or name
	Owner      string // of the allocation, written like CanceledBy
	Restarts   int
	// Start, End and Limit together show a preemption that Slurm calls a timeout.
	Start, End time.Time
	Limit      time.Duration
	// Preempting is why it is taken for preempted, whatever the state is.
	Preempting string
	// Foretold is what was known before the end: why Slurm takes the nodes.
	Foretold *workflow.SlurmEvidence
	// RequeuedByHand says that another start of the job has followed, so that its end
	// was no cancellation and no success.
	RequeuedByHand bool
	// OurCancel says that we have sent scancel, and OurReason why.
	OurCancel bool
	OurReason string
}

// End is what Slurm's words about an end mean.
type End struct {
	Cause      compute.AllocationCause // lost: Slurm's word is not known
	Confidence workflow.Confidence
	Instead    string // what Slurm calls it, where a foretold preemption says more
	evidence   workflow.SlurmEvidence
}

// SlurmEnd decodes what Slurm said about an end. It is the only decoder: what we have
// inferred of a preemption and what we did ourselves comes before Slurm's word.
func SlurmEnd(s Said) End {
	s.State, _, _ = strings.Cut(s.State, " ") // CANCELLED by 1000
	e := End{evidence: workflow.SlurmEvidence{
		JobState: s.State, ExitCode: s.ExitCode, Reason: s.Reason, CanceledBy: s.CanceledBy, Owner: s.Owner, RestartCount: s.Restarts,
	}}
	v := &e.evidence
	if s.Preempting == "" && s.State == Timeout {
		if left, is := CutShort(s.Start, s.End, s.Limit); is {
			s.Preempting = fmt.Sprintf("%s with %s of its time limit left, as after a preemption with a grace time", Timeout, left)
		}
	}
	if s.Preempting != "" {
		v.JobState, v.Reason, v.Inferred = Preempted, s.Preempting, true
	}
	if s.RequeuedByHand && (v.JobState == Cancelled || v.JobState == Completed) {
		v.JobState = Requeued
	}
	// A job that leaves before its grace time is over has succeeded or failed for Slurm.
	if s.Foretold != nil && s.Foretold.JobState == Preempted && (v.JobState == Completed || v.JobState == Failed) {
		e.Instead = v.JobState
		v.JobState, v.Reason, v.Inferred = Preempted, s.Foretold.Reason, true
	}
	if s.OurCancel && v.JobState == Cancelled {
		v.CanceledByUs, v.Reason = true, s.OurReason
	}
	e.Cause, e.Confidence = meaning(v)
	if s.OfStep {
		v.StepState, v.JobState = v.JobState, ""
	}
	return e
}

// meaning says what a state of an allocation means.
func meaning(v *workflow.SlurmEvidence) (compute.AllocationCause, workflow.Confidence) {
	cause, known := causes[v.JobState]
	switch {
	case !known:
		return compute.AllocationLost, workflow.Likely
	case cause == compute.AllocationRequeued, cause == compute.AllocationPreempted && v.Inferred:
		return cause, workflow.Likely
	case v.JobState != Cancelled:
		return cause, workflow.Certain
	case v.CanceledByUs:
		return compute.AllocationCanceled, workflow.Certain
	case v.CanceledBy == "":
		return compute.AllocationCanceledUser, workflow.Guess
	case v.CanceledBy != v.Owner:
		return compute.AllocationCanceledAdmin, workflow.Certain
	}
	return cause, workflow.Certain
}

// Evidence returns the end as evidence for the attempts that it ended: nil if it says
// nothing of them, as for a step that died by a signal of its own.
func (e End) Evidence() *workflow.SlurmEvidence {
	if e.evidence.StepState == Cancelled && e.evidence.CanceledBy == "" {
		return nil
	}
	return &e.evidence
}

// State is what we call the end in Slurm's words.
func (e End) State() string { return e.evidence.JobState + e.evidence.StepState }

// NodesGone reports whether Slurm took the nodes from the job: it was preempted or a
// node failed.
func (e End) NodesGone() bool { return e.State() == Preempted || e.State() == NodeFail }

// CanceledBySomebody reports whether it was canceled and nobody says by whom.
func (e End) CanceledBySomebody() bool {
	return e.Cause == compute.AllocationCanceledUser && e.evidence.CanceledBy == ""
}

// CanceledByUs is the evidence that we canceled the allocation of an attempt.
func CanceledByUs(why string) *workflow.SlurmEvidence {
	return SlurmEnd(Said{State: Cancelled, OurCancel: true, OurReason: why}).Evidence()
}

// CutShort reports whether a job ends before its limit, and how much of that is left
// then: Slurm has moved the end of one that it preempts with a grace time, not its
// limit (measured with 22.05). Whoever changes the time limit of a job changes both.
func CutShort(start, end time.Time, limit time.Duration) (left time.Duration, is bool) {
	// Slurm never ends a job before its limit, but counts in seconds.
	const slack = 10 * time.Second
	if start.IsZero() || end.IsZero() || limit <= 0 || limit == math.MaxInt64 {
		return 0, false
	}
	left = limit - end.Sub(start)
	return left.Round(time.Second), left > slack
}
