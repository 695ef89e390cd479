package workflow

// The states of Slurm that explain an end.
const (
	slurmOOM       = "OUT_OF_MEMORY"
	slurmNodeFail  = "NODE_FAIL"
	slurmBootFail  = "BOOT_FAIL"
	slurmPreempted = "PREEMPTED"
	slurmRequeued  = "REQUEUED"
	slurmTimeout   = "TIMEOUT"
	slurmDeadline  = "DEADLINE"
	slurmCancelled = "CANCELLED"
)

// Interrupted reports whether the end of its allocation may be what ended an
// attempt: its runner had to leave, or somebody sent a signal that programs do
// not send themselves.
func (e *Evidence) Interrupted() bool {
	signal := (&examination{Evidence: *e}).signal()
	return e.KilledBy == KilledByDrain || e.KilledBy == "" && e.OOMKills == 0 && (signal == sigTerm || signal == sigKill)
}

// slurmVerdict believes the step's state, which is about this attempt alone,
// and the job's only if the attempt did not end by itself, by its own code; it
// did not if we ended it since Slurm took the node.
func (x *examination) slurmVerdict() (Cause, bool) {
	if x.Slurm == nil {
		return Cause{}, false
	}
	if c, ok := x.slurmState(x.Slurm.StepState, "step"); ok {
		return c, true
	}
	if x.Slurm.JobState != slurmOOM && x.KilledBy != KilledByDrain && x.ExitCode != nil && signalOfCode(*x.ExitCode) == 0 {
		return Cause{}, false
	}
	c, ok := x.slurmState(x.Slurm.JobState, "job")
	if ok && x.Slurm.JobState == slurmOOM {
		c.Confidence = Likely // others may have run in the same allocation
	}
	return c, ok
}

func (x *examination) slurmState(state, of string) (Cause, bool) {
	text := join("Slurm "+of+" "+state, x.Slurm.Reason, x.endText())
	c := Cause{Confidence: Certain, Status: Terminated, ReturnCode: x.knownCodeOr(ReturnCodeUnknown), Text: text}
	if x.Slurm.Inferred && x.Slurm.Reason != "" {
		c.Confidence, c.Text = Likely, join(x.Slurm.Reason, x.endText())
	}
	switch state {
	case slurmOOM:
		c.Kind, c.Status, c.ReturnCode = CauseOOM, Failed, x.ownCodeOr(x.codes.oom())
		c.Text = x.oomText("Slurm " + of + " " + state)
	case slurmNodeFail, slurmBootFail:
		c.Kind, c.Status, c.ReturnCode = CauseNodeFail, Failed, x.knownCodeOr(ReturnCodeLost)
		c.MayStillRun = !x.endKnown()
	case slurmPreempted:
		c.Kind = CausePreempted
	case slurmRequeued:
		c.Kind, c.Confidence = CausePreempted, Likely
	case slurmTimeout, slurmDeadline:
		c.Kind, c.ReturnCode = CauseWalltime, x.ownCodeOr(x.codes.timeout())
		c.ByDrain = x.KilledBy == KilledByDrain
	case slurmCancelled:
		x.slurmCanceled(&c)
	default:
		return Cause{}, false
	}
	return c, true
}

// slurmCanceled tells the three kinds of scancel apart: ours, the owner's and
// somebody else's.
func (x *examination) slurmCanceled(c *Cause) {
	by := x.Slurm.CanceledBy
	switch {
	case x.Slurm.CanceledByUs && x.Silent:
		c.Kind, c.Status, c.ReturnCode = CauseLost, Failed, x.knownCodeOr(ReturnCodeLost)
		c.Text = join("we canceled its allocation", x.Slurm.Reason, x.endText())
	case x.Slurm.CanceledByUs:
		c.Kind, c.ByUs, c.Text = CausePreempted, true, join("we canceled its allocation", x.Slurm.Reason, x.endText())
	case by == "":
		c.Kind, c.Status, c.Confidence = CauseCanceledUser, Canceled, Guess
		c.Text = join("its allocation was canceled", x.Slurm.Reason, x.endText())
	case by == "0" || by == "root" || x.Slurm.Owner != "" && by != x.Slurm.Owner:
		c.Kind, c.Status = CauseCanceledAdmin, Canceled
		c.Text = join("its allocation was canceled by "+by, x.Slurm.Reason, x.endText())
	default:
		c.Kind, c.Status = CauseCanceledUser, Canceled
		c.Text = join("its allocation was canceled by its owner "+by, x.Slurm.Reason, x.endText())
		if x.Slurm.Owner == "" {
			c.Confidence = Likely
			c.Text = join("its allocation was canceled by "+by, x.Slurm.Reason, x.endText())
		}
	}
}
