package failure

import (
	"cmp"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// Interrupted reports whether the end of its allocation may have ended an attempt: its
// runner was draining, or a signal ended it that programs do not send to themselves.
func Interrupted(e *workflow.Evidence) bool {
	signal := (&examination{Evidence: *e}).signal()
	return e.KilledBy == workflow.KilledByDrain || e.KilledBy == "" && e.OOMKills == 0 && (signal == sigTerm || signal == sigKill)
}

// Preempting reports whether Slurm reports a preemption.
func Preempting(said *workflow.SlurmEvidence) bool { return said != nil && said.JobState == Preempted }

// NeedsAllocation reports whether the record of its allocation may explain the end of an
// attempt better than the report of its runner does.
func NeedsAllocation(e *workflow.Evidence) bool {
	if e.Slurm == nil {
		return Interrupted(e)
	}
	return canceled(e.Slurm)
}

func canceled(said *workflow.SlurmEvidence) bool {
	return said.JobState == Cancelled || said.StepState == Cancelled
}

// Combine returns what Slurm reported about the end of an attempt, from the source that
// takes precedence: the report of its runner, unless that was our own scancel; otherwise why
// Slurm takes the nodes of the allocation, otherwise our scancel, otherwise a requeue. The
// result is nil if there is none; ours says that it was our scancel.
func Combine(e *workflow.Evidence, a *compute.Allocation) (said *workflow.SlurmEvidence, ours bool) {
	switch {
	case !NeedsAllocation(e):
	case e.Slurm != nil && a.CancelMS != 0:
		said := *e.Slurm // a copy, as the caller's must not change
		said.CanceledByUs, said.Reason = true, cmp.Or(said.Reason, a.CancelWhy)
		return &said, true
	case e.Slurm != nil:
	case a.NodeLoss != nil:
		return a.NodeLoss, false
	case a.CancelSentMS != 0:
		return CanceledByUs(a.CancelWhy), true
	case a.SupersededMS != 0:
		return SlurmEnd(Said{State: Requeued}).Evidence(), false
	}
	return e.Slurm, false
}
