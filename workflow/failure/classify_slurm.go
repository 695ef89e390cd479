package failure

import (
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// slurmVerdict explains the end by the state of the step, which belongs to this attempt
// alone. It uses the state of the job only if the attempt did not exit by itself. An attempt
// that we drained did not.
func (x *examination) slurmVerdict() (workflow.Cause, bool) {
	if x.Slurm == nil {
		return workflow.Cause{}, false
	}
	if c, ok := x.slurmState(x.Slurm.StepState, "step"); ok {
		return c, true
	}
	if x.Slurm.JobState != OutOfMemory && x.KilledBy != workflow.KilledByDrain && x.ExitCode != nil && signalOfCode(*x.ExitCode) == 0 {
		return workflow.Cause{}, false
	}
	c, ok := x.slurmState(x.Slurm.JobState, "job")
	if ok && x.Slurm.JobState == OutOfMemory {
		c.Confidence = workflow.Likely // others may have run in the same allocation
	}
	return c, ok
}

func (x *examination) slurmState(state, of string) (workflow.Cause, bool) {
	text := workflow.JoinText("Slurm "+of+" "+state, x.Slurm.Reason, x.endText())
	c := workflow.Cause{Confidence: workflow.Certain, Status: workflow.Terminated, ReturnCode: x.knownCodeOr(workflow.ReturnCodeUnknown), Text: text}
	if x.Slurm.Inferred && x.Slurm.Reason != "" {
		c.Confidence, c.Text = workflow.Likely, workflow.JoinText(x.Slurm.Reason, x.endText())
	}
	switch causes[state] {
	case compute.AllocationOOM:
		c.Kind, c.Status, c.ReturnCode = workflow.CauseOOM, workflow.Failed, x.ownCodeOr(x.codes.OOMCode())
		c.Text = x.oomText("Slurm " + of + " " + state)
	case compute.AllocationNodeFail:
		c.Kind, c.Status, c.ReturnCode = workflow.CauseNodeFail, workflow.Failed, x.knownCodeOr(workflow.ReturnCodeLost)
		c.MayStillRun = !x.endKnown()
	case compute.AllocationPreempted:
		c.Kind = workflow.CausePreempted
	case compute.AllocationRequeued:
		c.Kind, c.Confidence = workflow.CausePreempted, workflow.Likely
	case compute.AllocationWalltime:
		c.Kind, c.ReturnCode = workflow.CauseWalltime, x.ownCodeOr(x.codes.TimeoutCode())
		c.ByDrain = x.KilledBy == workflow.KilledByDrain
	case compute.AllocationCanceledUser:
		x.slurmCanceled(&c)
	default:
		return workflow.Cause{}, false
	}
	return c, true
}

// slurmCanceled distinguishes three kinds of scancel: by us, by the owner and by another
// user.
func (x *examination) slurmCanceled(c *workflow.Cause) {
	by := x.Slurm.CanceledBy
	switch {
	case x.Slurm.CanceledByUs && x.Silent:
		c.Kind, c.Status, c.ReturnCode = workflow.CauseLost, workflow.Failed, x.knownCodeOr(workflow.ReturnCodeLost)
		c.Text = workflow.JoinText("we canceled its allocation", x.Slurm.Reason, x.endText())
	case x.Slurm.CanceledByUs:
		c.Kind, c.ByUs, c.Text = workflow.CausePreempted, true, workflow.JoinText("we canceled its allocation", x.Slurm.Reason, x.endText())
	case by == "":
		c.Kind, c.Status, c.Confidence = workflow.CauseCanceledUser, workflow.Canceled, workflow.Guess
		c.Text = workflow.JoinText("its allocation was canceled", x.Slurm.Reason, x.endText())
	case by == "0" || by == "root" || x.Slurm.Owner != "" && by != x.Slurm.Owner:
		c.Kind, c.Status = workflow.CauseCanceledAdmin, workflow.Canceled
		c.Text = workflow.JoinText("its allocation was canceled by "+by, x.Slurm.Reason, x.endText())
	default:
		c.Kind, c.Status = workflow.CauseCanceledUser, workflow.Canceled
		c.Text = workflow.JoinText("its allocation was canceled by its owner "+by, x.Slurm.Reason, x.endText())
		if x.Slurm.Owner == "" {
			c.Confidence = workflow.Likely
			c.Text = workflow.JoinText("its allocation was canceled by "+by, x.Slurm.Reason, x.endText())
		}
	}
}
