package failure

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// Said is what Slurm reports about the end of an allocation, a job or a step, and what else
// is known of it. A field with its zero value is not known.
type Said struct {
	OfStep     bool   // of a step, not of a job
	State      string // as Slurm writes it
	Reason     string
	ExitCode   string // as sacct writes it, for example 0:125
	CanceledBy string // user id or name
	Owner      string // of the allocation, written like CanceledBy
	Restarts   int
	// Start, End and Limit together reveal a preemption that Slurm reports as a timeout.
	Start, End time.Time
	Limit      time.Duration
	// Preempting is why the end counts as a preemption regardless of the state; empty if it
	// does not.
	Preempting string
	// Foretold is why Slurm takes the nodes, as known before the end.
	Foretold *workflow.SlurmEvidence
	// RequeuedByHand says that another start of the job followed, so that this end was
	// neither a cancellation nor a success.
	RequeuedByHand bool
	// OurCancel says that we sent scancel, OurReason why.
	OurCancel bool
	OurReason string
}

// End is the meaning of what Slurm reported about an end.
type End struct {
	Cause      compute.AllocationCause // lost: the state is unknown
	Confidence workflow.Confidence
	Instead    string // the state that Slurm reported, if a foretold preemption replaced it
	evidence   workflow.SlurmEvidence
}

// SlurmEnd returns the meaning of what Slurm reported about an end. It is the only decoder.
// Our inferences about preemption and our own actions take precedence over Slurm's state.
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
	// If a preempted job ends within its grace time, Slurm reports success or failure.
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

// meaning returns the cause for a state of an allocation, and how certain it is.
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

// Evidence returns the end as evidence for the attempts that it ended. It returns nil if it
// says nothing about them, as for a step that died by a signal of its own.
func (e End) Evidence() *workflow.SlurmEvidence {
	if e.evidence.StepState == Cancelled && e.evidence.CanceledBy == "" {
		return nil
	}
	return &e.evidence
}

// State returns Slurm's state for the end, after our corrections.
func (e End) State() string { return e.evidence.JobState + e.evidence.StepState }

// NodesGone reports whether the job lost its nodes: it was preempted or a node failed.
func (e End) NodesGone() bool { return e.State() == Preempted || e.State() == NodeFail }

// CanceledBySomebody reports whether it was canceled and it is unknown by whom.
func (e End) CanceledBySomebody() bool {
	return e.Cause == compute.AllocationCanceledUser && e.evidence.CanceledBy == ""
}

// CanceledByUs returns the evidence that we canceled the allocation of an attempt.
func CanceledByUs(why string) *workflow.SlurmEvidence {
	return SlurmEnd(Said{State: Cancelled, OurCancel: true, OurReason: why}).Evidence()
}

// CutShort returns whether a job ends before its time limit, and how much of that is left.
// When Slurm preempts a job with a grace time, it moves the end of the job, but not its
// limit (measured with 22.05). A change of the time limit moves both.
func CutShort(start, end time.Time, limit time.Duration) (left time.Duration, is bool) {
	// Slurm never ends a job before its limit, but counts in seconds.
	const slack = 10 * time.Second
	if start.IsZero() || end.IsZero() || limit <= 0 || limit == math.MaxInt64 {
		return 0, false
	}
	left = limit - end.Sub(start)
	return left.Round(time.Second), left > slack
}
