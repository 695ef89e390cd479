// Package failure says what became of an attempt: evidence → cause. It alone knows
// what Slurm's words for an end mean, and whose word counts when they differ.
package failure

import (
	"github.com/torc-slurm/torc-slurm/workflow"
)

// Classify says what became of an attempt. It always has an answer. The
// requirements may be nil; they are only cited, and not if they are the
// default ones, which nobody enforces.
func Classify(e workflow.Evidence, codes workflow.ReturnCodes, requirements *workflow.ResourceRequirements) workflow.Cause {
	x := examination{Evidence: e, codes: codes, requirements: requirements}
	for _, look := range examinations {
		if c, ok := look(&x); ok {
			return c
		}
	}
	return x.lost()
}

// ClassifyCanceled is the cause of an attempt whose lease was taken away, and why
// that was done: it was canceled, whatever its process did then. The evidence may
// be empty.
func ClassifyCanceled(why string, e workflow.Evidence) workflow.Cause {
	x := examination{Evidence: e}
	return workflow.Cause{Kind: workflow.CauseCanceledUser, Confidence: workflow.Certain, Status: workflow.Canceled,
		ReturnCode: x.knownCodeOr(workflow.ReturnCodeUnknown), Text: workflow.JoinText(why, x.endText())}
}

// examinations is the order in which explanations are tried: what took the job away,
// success (also of what we were ending), what we did ourselves, what Slurm says, what
// the kernel says, what the command says.
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

// examination is one look at the evidence of an attempt.
type examination struct {
	workflow.Evidence
	codes        workflow.ReturnCodes
	requirements *workflow.ResourceRequirements
}

// The errno of a program that is not there.
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
	if x.DiskFull { // its output files could not be made
		c.Kind, c.OfCommand = workflow.CauseDiskFull, false
	}
	return c, true
}

// revoked is what took the job away from the attempt, whatever it did then, and a
// kill that leaves no grace.
func (x *examination) revoked() (workflow.Cause, bool) {
	switch x.KilledBy {
	case workflow.KilledByMemoryLimit:
		return workflow.Cause{Kind: workflow.CauseOOM, Confidence: workflow.Certain, Status: workflow.Failed,
			ReturnCode: x.codes.OOMCode(), Text: x.oomText("our memory limit")}, true
	case workflow.KilledByCancel:
		return x.canceled("canceled with the workflow"), true
	case workflow.KilledByFence:
		return workflow.Cause{Kind: workflow.CauseLost, Confidence: workflow.Certain, Status: workflow.Failed, ByUs: true,
			ReturnCode: workflow.ReturnCodeLost, Text: workflow.JoinText("its job had been given to another runner", x.endText())}, true
	}
	return workflow.Cause{}, false
}

// canceled is an attempt that we ended because its job is not wanted any more.
func (x *examination) canceled(why string) workflow.Cause {
	return workflow.Cause{Kind: workflow.CauseCanceledUser, Confidence: workflow.Certain, Status: workflow.Canceled,
		ReturnCode: x.knownCodeOr(workflow.ReturnCodeUnknown), Text: workflow.JoinText(why, x.endText())}
}

// ownKill is what we did to an attempt that had its grace time and was not successful
// within it. A drain comes later, since an attempt that we drain may have ended by
// itself or because Slurm took its node.
func (x *examination) ownKill() (workflow.Cause, bool) {
	switch x.KilledBy {
	case workflow.KilledByTimeout:
		return workflow.Cause{Kind: workflow.CauseTimeout, Confidence: workflow.Certain, Status: workflow.Terminated,
			ReturnCode: x.ownCodeOr(x.codes.TimeoutCode()), Text: x.timeoutText()}, true
	case workflow.KilledBySibling:
		return x.canceled(x.EndedBy.Because()), true
	}
	return workflow.Cause{}, false
}

// success is exit code 0, unless something was wrong with it all the same.
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
			return workflow.Cause{}, false // cut off before it had written them
		}
		return workflow.Cause{Kind: workflow.CauseOutputMissing, Confidence: workflow.Certain, Status: workflow.Failed,
			ReturnCode: workflow.ReturnCodeOutputMissing, Text: x.missingText()}, true
	}
	return workflow.Cause{Kind: workflow.CauseOK, Confidence: workflow.Certain, Status: workflow.Completed, Text: x.successText()}, true
}

// memory is an OOM kill that the kernel counted: certain if one of this
// attempt's processes died by it or nothing else lived in the cgroup, likely if
// no other's did or the attempt ended by SIGKILL meanwhile. Otherwise it was a
// neighbour.
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

// drained is an attempt that we cut off because its allocation was ending.
func (x *examination) drained() (workflow.Cause, bool) {
	if x.KilledBy != workflow.KilledByDrain {
		return workflow.Cause{}, false
	}
	if x.TimeLeftSeconds > 0 {
		left := "with " + workflow.FormatSeconds(x.TimeLeftSeconds) + " of its time left"
		return workflow.Cause{Kind: workflow.CausePreempted, Confidence: workflow.Likely, Status: workflow.Terminated, ReturnCode: x.knownCodeOr(workflow.ReturnCodeUnknown),
			Text: workflow.JoinText("Slurm took the node "+left+" and did not say why", x.endText(), x.missingText())}, true
	}
	return workflow.Cause{Kind: workflow.CauseWalltime, Confidence: workflow.Certain, Status: workflow.Terminated, ByDrain: true,
		ReturnCode: x.ownCodeOr(x.codes.TimeoutCode()), Text: workflow.JoinText("stopped because its runner had to leave", x.endText(), x.missingText())}, true
}

func (x *examination) diskFull() (workflow.Cause, bool) {
	if !x.DiskFull && !saysDiskFull(x.StderrTail) || !x.endKnown() {
		return workflow.Cause{}, false
	}
	return workflow.Cause{Kind: workflow.CauseDiskFull, Confidence: workflow.Likely, Status: workflow.Failed, ReturnCode: x.knownCodeOr(workflow.ReturnCodeUnknown),
		Text: workflow.JoinText("no space left on the device, or no quota", x.endText())}, true
}

// signaled is a signal that nothing above explains. Shells report a command's
// signal as 128+n, so such an exit code is likely one too. SIGKILL that nobody
// owns up to is most often the kernel's answer to too much memory.
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
		c.Kind, c.Confidence, c.ReturnCode, c.Text = workflow.CauseOOM, workflow.Guess, x.codes.OOMCode(), x.oomText("guessed, since nobody is known to have killed it")
	}
	return c, true
}

func (x *examination) exited() (workflow.Cause, bool) {
	if x.ExitCode == nil {
		return workflow.Cause{}, false
	}
	return workflow.Cause{Kind: workflow.CauseExit, Confidence: workflow.Certain, Status: workflow.Failed, ReturnCode: *x.ExitCode, Text: workflow.JoinText(x.endText(), x.doubtText())}, true
}

// lost is what remains: nobody can say. When Slurm has ended an allocation, it
// has ended the processes on its nodes.
func (x *examination) lost() workflow.Cause {
	text := "nobody saw how it ended"
	if x.LostRunner {
		text = "its runner is gone and nobody saw how it ended"
	}
	if x.Silent {
		text = "its runner says nothing and nobody saw how it ended"
	}
	return workflow.Cause{Kind: workflow.CauseLost, Confidence: workflow.Likely, Status: workflow.Failed, ReturnCode: workflow.ReturnCodeLost, Text: workflow.JoinText(text, x.Note),
		MayStillRun: x.Silent && x.Slurm == nil || x.Slurm != nil && x.Slurm.JobState == ""}
}

func (x *examination) endKnown() bool { return x.ExitCode != nil || x.Signal > 0 }

// signal is the signal that ended the attempt, or that its shell reported.
func (x *examination) signal() int {
	if x.Signal > 0 || x.ExitCode == nil {
		return max(x.Signal, 0)
	}
	return signalOfCode(*x.ExitCode)
}

// ownCodeOr returns the code that the attempt chose itself, if not 0; a death
// by signal is not chosen.
func (x *examination) ownCodeOr(code int64) int64 {
	if x.ExitCode != nil && *x.ExitCode != 0 && x.Signal <= 0 && signalOfCode(*x.ExitCode) == 0 {
		return *x.ExitCode
	}
	return code
}

// knownCodeOr returns the exit code or 128 + signal, or code if neither is
// known. It is for attempts without success, so that 0 does not count.
func (x *examination) knownCodeOr(code int64) int64 {
	switch {
	case x.Signal > 0:
		return 128 + int64(x.Signal)
	case x.ExitCode != nil && *x.ExitCode != 0:
		return *x.ExitCode
	}
	return code
}
