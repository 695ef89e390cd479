package failure

import (
	"cmp"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// Interrupted reports whether the end of its allocation may be what ended an
// attempt: its runner had to leave, or somebody sent a signal that programs do
// not send themselves.
func Interrupted(e *workflow.Evidence) bool {
	signal := (&examination{Evidence: *e}).signal()
	return e.KilledBy == workflow.KilledByDrain || e.KilledBy == "" && e.OOMKills == 0 && (signal == sigTerm || signal == sigKill)
}

// Preempting reports whether Slurm's word is that it takes the nodes for others.
func Preempting(said *workflow.SlurmEvidence) bool { return said != nil && said.JobState == Preempted }

// AsksAllocation reports whether the record of its allocation may say more about the
// end of an attempt than its runner did. A runner that knows of a preemption knows best.
func AsksAllocation(e *workflow.Evidence) bool {
	if e.Slurm == nil {
		return Interrupted(e)
	}
	return canceled(e.Slurm)
}

func canceled(said *workflow.SlurmEvidence) bool {
	return said.JobState == Cancelled || said.StepState == Cancelled
}

// Combine says whose word about the end of an attempt counts: what its runner has from
// Slurm, unless that is a scancel of ours; else why Slurm takes the nodes of the
// allocation, else our scancel, else a requeue. Ours says that it was our scancel.
func Combine(e *workflow.Evidence, a *compute.Allocation) (said *workflow.SlurmEvidence, ours bool) {
	switch {
	case !AsksAllocation(e):
	case e.Slurm != nil && a.CancelMS != 0:
		said := *e.Slurm // the caller's is not to change
		said.CanceledByUs, said.Reason = true, cmp.Or(said.Reason, a.CancelWhy)
		return &said, true
	case e.Slurm != nil:
	case a.Taken != nil:
		return a.Taken, false
	case a.CancelSentMS != 0:
		return CanceledByUs(a.CancelWhy), true
	case a.SupersededMS != 0:
		return SlurmEnd(Said{State: Requeued}).Evidence(), false
	}
	return e.Slurm, false
}
