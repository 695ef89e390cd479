// Package failure finds the cause of an attempt's end from its evidence. Only this package
// interprets Slurm's states, and decides which report takes precedence if reports differ.
package failure

import (
	"github.com/torc-slurm/torc-slurm/workflow"
)

// Classify returns the cause of an attempt's end. It always finds one. The requirements are
// used only for the text, unless they are the default ones, which are not enforced; they
// may be nil.
func Classify(e workflow.Evidence, codes workflow.ReturnCodes, requirements *workflow.ResourceRequirements) workflow.Cause {
	x := examination{Evidence: e, codes: codes, requirements: requirements}
	for _, examine := range examinations {
		if c, ok := examine(&x); ok {
			return c
		}
	}
	return x.lost()
}

// ClassifyCanceled returns the cause of an attempt whose lease was revoked, for the reason
// why: it counts as canceled, however its process ended. The evidence may be empty.
func ClassifyCanceled(why string, e workflow.Evidence) workflow.Cause {
	x := examination{Evidence: e}
	return workflow.Cause{Kind: workflow.CauseCanceledUser, Confidence: workflow.Certain, Status: workflow.Canceled,
		ReturnCode: x.knownCodeOr(workflow.ReturnCodeUnknown), Text: workflow.JoinText(why, x.endText())}
}

// examinations has the possible explanations in the order in which they are tried: the job
// was revoked, it succeeded (even while we were ending it), we ended it, what Slurm reports,
// what the kernel reports, what the command reports.
var examinations = []func(*examination) (workflow.Cause, bool){
	(*examination).neverStarted,
	(*examination).launch,
	(*examination).revoked,
	(*examination).success,
	(*examination).ownKill,
	(*examination).slurmVerdict,
	(*examination).memory,
	(*examination).drained,
	(*examination).diskFull,
	(*examination).signaled,
	(*examination).exited,
}

// examination is the evidence of an attempt, with what is needed to classify it.
type examination struct {
	workflow.Evidence
	codes        workflow.ReturnCodes
	requirements *workflow.ResourceRequirements
}

// errnoENOENT is the errno for a missing program.
const errnoENOENT = 2

func (x *examination) neverStarted() (workflow.Cause, bool) {
	if !x.NeverStarted {
		return workflow.Cause{}, false
	}
	return workflow.Cause{Kind: workflow.CauseNeverStarted, Confidence: workflow.Certain, Status: workflow.Ready, ReturnCode: workflow.ReturnCodeUnknown,
		Text: workflow.JoinText("claimed but not started", x.Note)}, true
}

func (x *examination) launch() (workflow.Cause, bool) {
	if x.SpawnError == "" && x.SpawnErrno == 0 {
		return workflow.Cause{}, false
	}
	c := workflow.Cause{Kind: workflow.CauseLaunch, Confidence: workflow.Certain, Status: workflow.Failed, ReturnCode: workflow.ReturnCodeCannotExecute, OfCommand: x.SpawnOfCommand}
	if x.SpawnErrno == errnoENOENT {
		c.ReturnCode = workflow.ReturnCodeCommandNotFound
	}
	who := "node"
	if x.SpawnOfCommand {
		who = "command"
	}
	c.Text = "could not be started (" + who + "): " + x.spawnErrorText()
	if x.DiskFull { // its output files could not be created
		c.Kind, c.OfCommand = workflow.CauseDiskFull, false
	}
	return c, true
}

// revoked explains the end by a revoked lease, however the process ended, or by a kill
// without a grace time.
func (x *examination) revoked() (workflow.Cause, bool) {
	switch x.KilledBy {
	case workflow.KilledByMemoryLimit:
		return workflow.Cause{Kind: workflow.CauseOOM, Confidence: workflow.Certain, Status: workflow.Failed,
			ReturnCode: x.codes.OOMCode(), Text: x.oomText("our memory limit")}, true
	case workflow.KilledByCancel:
		return x.canceled("canceled with the workflow"), true
	case workflow.KilledByFence:
		return workflow.Cause{Kind: workflow.CauseLost, Confidence: workflow.Certain, Status: workflow.Failed, ByUs: true,
			ReturnCode: workflow.ReturnCodeLost, Text: workflow.JoinText("its job was granted to another runner", x.endText())}, true
	}
	return workflow.Cause{}, false
}

// canceled returns the cause of an attempt that we ended because its job was canceled.
func (x *examination) canceled(why string) workflow.Cause {
	return workflow.Cause{Kind: workflow.CauseCanceledUser, Confidence: workflow.Certain, Status: workflow.Canceled,
		ReturnCode: x.knownCodeOr(workflow.ReturnCodeUnknown), Text: workflow.JoinText(why, x.endText())}
}

// ownKill explains the end of an attempt that we ended and that was not successful within
// its grace time. Drains are examined later, because a drained attempt may have ended by
// itself, or because Slurm took its node.
func (x *examination) ownKill() (workflow.Cause, bool) {
	switch x.KilledBy {
	case workflow.KilledByTimeout:
		return workflow.Cause{Kind: workflow.CauseTimeout, Confidence: workflow.Certain, Status: workflow.Terminated,
			ReturnCode: x.ownCodeOr(x.codes.TimeoutCode()), Text: x.timeoutText()}, true
	case workflow.KilledBySibling:
		return x.canceled(x.EndedBy.CanceledReason()), true
	case workflow.KilledByPause:
		c := x.canceled("ended because the workflow was paused")
		c.ByPause = true
		return c, true
	}
	return workflow.Cause{}, false
}

// success explains exit code 0, unless the kernel killed a process or outputs are missing.
func (x *examination) success() (workflow.Cause, bool) {
	if x.ExitCode == nil || *x.ExitCode != 0 || x.Signal > 0 {
		return workflow.Cause{}, false
	}
	if x.OOMExclusive && x.OOMKills > 0 || x.Slurm != nil && x.Slurm.StepState == OutOfMemory {
		return workflow.Cause{Kind: workflow.CauseOOMPartial, Confidence: workflow.Certain, Status: workflow.Failed,
			ReturnCode: x.codes.OOMCode(), Text: x.oomText("exit code 0")}, true
	}
	if c, ok := x.hiddenOOM(); ok {
		return c, true
	}
	if x.MissingOutputCount > 0 || len(x.MissingOutputs) > 0 {
		if x.KilledBy != "" {
			return workflow.Cause{}, false // ended before it had written them
		}
		return workflow.Cause{Kind: workflow.CauseOutputMissing, Confidence: workflow.Certain, Status: workflow.Failed,
			ReturnCode: workflow.ReturnCodeOutputMissing, Text: x.missingText()}, true
	}
	return workflow.Cause{Kind: workflow.CauseOK, Confidence: workflow.Certain, Status: workflow.Completed, Text: x.successText()}, true
}

// memory explains the end by an OOM kill that the kernel counted. It is certain if a process
// of this attempt died by it or nothing else was in the cgroup, likely if no other job's
// process did or the attempt ended by SIGKILL at that time. Otherwise the kill hit another
// job.
func (x *examination) memory() (workflow.Cause, bool) {
	if x.OOMKills <= 0 {
		return workflow.Cause{}, false
	}
	c := workflow.Cause{Kind: workflow.CauseOOM, Status: workflow.Failed, ReturnCode: x.ownCodeOr(x.codes.OOMCode()), Text: x.oomText("")}
	switch {
	case x.OOMVictims > 0 || x.OOMExclusive:
		c.Confidence = workflow.Certain
	case x.OOMShare != nil && x.OOMShare.Kills > 0:
		c.Confidence = confidence(x.OOMShare)
	case x.OOMShare != nil && x.OOMShare.Doubtful <= 0:
		return workflow.Cause{}, false
	case x.signal() == sigKill && x.KilledBy == "":
		c.Confidence = workflow.Likely
	default:
		return workflow.Cause{}, false
	}
	return c, true
}

// drained explains the end of an attempt that we ended because its runner was ending.
func (x *examination) drained() (workflow.Cause, bool) {
	if x.KilledBy != workflow.KilledByDrain {
		return workflow.Cause{}, false
	}
	if x.TimeLeftSeconds > 0 {
		left := "with " + workflow.FormatSeconds(x.TimeLeftSeconds) + " of its time left"
		return workflow.Cause{Kind: workflow.CausePreempted, Confidence: workflow.Likely, Status: workflow.Terminated, ReturnCode: x.knownCodeOr(workflow.ReturnCodeUnknown),
			Text: workflow.JoinText("Slurm took the node "+left+" without giving a reason", x.endText(), x.missingText())}, true
	}
	return workflow.Cause{Kind: workflow.CauseWalltime, Confidence: workflow.Certain, Status: workflow.Terminated, ByDrain: true,
		ReturnCode: x.ownCodeOr(x.codes.TimeoutCode()), Text: workflow.JoinText("stopped because its runner was ending", x.endText(), x.missingText())}, true
}

func (x *examination) diskFull() (workflow.Cause, bool) {
	if !x.DiskFull && !saysDiskFull(x.StderrTail) || !x.endKnown() {
		return workflow.Cause{}, false
	}
	return workflow.Cause{Kind: workflow.CauseDiskFull, Confidence: workflow.Likely, Status: workflow.Failed, ReturnCode: x.knownCodeOr(workflow.ReturnCodeUnknown),
		Text: workflow.JoinText("no space left on the device, or disk quota exceeded", x.endText())}, true
}

// signaled explains the end by a signal of unknown origin. Shells report the signal of a
// command as 128+n, so such an exit code likely means a signal. A SIGKILL of unknown origin
// most often comes from the kernel because memory ran out.
func (x *examination) signaled() (workflow.Cause, bool) {
	signal := x.signal()
	if signal == 0 {
		return workflow.Cause{}, false
	}
	c := workflow.Cause{Kind: workflow.CauseSignal, Confidence: workflow.Certain, Status: workflow.Failed, ReturnCode: 128 + int64(signal), Text: x.endText()}
	if x.Signal <= 0 {
		c.Confidence = workflow.Likely
	}
	if signal == sigKill {
		c.Kind, c.Confidence, c.ReturnCode, c.Text = workflow.CauseOOM, workflow.Guess, x.codes.OOMCode(), x.oomText("guessed, because the sender of SIGKILL is unknown")
	}
	return c, true
}

func (x *examination) exited() (workflow.Cause, bool) {
	if x.ExitCode == nil {
		return workflow.Cause{}, false
	}
	return workflow.Cause{Kind: workflow.CauseExit, Confidence: workflow.Certain, Status: workflow.Failed, ReturnCode: *x.ExitCode, Text: workflow.JoinText(x.endText(), x.doubtText())}, true
}

// lost returns the cause if there is no other explanation. When Slurm has ended an
// allocation, the processes on its nodes have ended too.
func (x *examination) lost() workflow.Cause {
	text := "it is unknown how it ended"
	if x.LostRunner {
		text = "its runner is gone and it is unknown how it ended"
	}
	if x.Silent {
		text = "its runner is silent and it is unknown how it ended"
	}
	return workflow.Cause{Kind: workflow.CauseLost, Confidence: workflow.Likely, Status: workflow.Failed, ReturnCode: workflow.ReturnCodeLost, Text: workflow.JoinText(text, x.Note),
		MayStillRun: x.Silent && x.Slurm == nil || x.Slurm != nil && x.Slurm.JobState == ""}
}

func (x *examination) endKnown() bool { return x.ExitCode != nil || x.Signal > 0 }

// signal returns the signal that ended the attempt, or that its shell reported; 0 for none.
func (x *examination) signal() int {
	if x.Signal > 0 || x.ExitCode == nil {
		return max(x.Signal, 0)
	}
	return signalOfCode(*x.ExitCode)
}

// ownCodeOr returns the exit code of the attempt if it is neither 0 nor a signal, otherwise
// code.
func (x *examination) ownCodeOr(code int64) int64 {
	if x.ExitCode != nil && *x.ExitCode != 0 && x.Signal <= 0 && signalOfCode(*x.ExitCode) == 0 {
		return *x.ExitCode
	}
	return code
}

// knownCodeOr returns the exit code or 128 + signal of an unsuccessful attempt, or code if
// neither is known or the exit code is 0.
func (x *examination) knownCodeOr(code int64) int64 {
	switch {
	case x.Signal > 0:
		return 128 + int64(x.Signal)
	case x.ExitCode != nil && *x.ExitCode != 0:
		return *x.ExitCode
	}
	return code
}
