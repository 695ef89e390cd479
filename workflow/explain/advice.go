package explain

import (
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// Advice is what a user can do about a job that was not successful.
type Advice struct {
	// Recover says that `torc-slurm recover` runs the job again.
	Recover bool
	Text    string // what is wrong, or what to do
	more    bool   // recover also raises the resource that was too small
}

// adviceByCause has the advice for each cause of a final failure.
var adviceByCause = map[workflow.CauseKind]Advice{
	workflow.CauseExit:          {Text: "fix the error that its command printed on stderr"},
	workflow.CauseSignal:        {Text: "find out who or what killed its process"},
	workflow.CauseOOM:           {Recover: true, Text: "it needs more memory", more: true},
	workflow.CauseOOMPartial:    {Recover: true, Text: "it needs more memory", more: true},
	workflow.CauseTimeout:       {Recover: true, Text: "it needs more time", more: true},
	workflow.CauseWalltime:      {Recover: true, Text: "it needs more time, or an allocation with more time left"},
	workflow.CauseNodeFail:      {Recover: true, Text: "its node was at fault"},
	workflow.CausePreempted:     {Recover: true, Text: "its allocation was preempted"},
	workflow.CauseCanceledUser:  {Text: "its owner canceled it"},
	workflow.CauseCanceledAdmin: {Recover: true, Text: "an administrator canceled its allocation"},
	workflow.CauseLaunch:        {Text: "fix what kept its command from starting"},
	workflow.CauseOutputMissing: {Text: "its command succeeded but did not write all of its output files: correct the command, or the paths"},
	workflow.CauseDiskFull:      {Text: "free disk space where it writes"},
	workflow.CauseLost:          {Recover: true, Text: "it is unknown how it ended"},
	workflow.CauseSubWorkflow:   {Text: "fix the failed jobs of its sub-workflow"},
	workflow.CauseNeverStarted:  {Recover: true, Text: "it never started"},
}

// AdviceFor returns what to do about a job whose last attempt ended for a cause.
// For an unknown cause, the advice is to read the output of the job.
func AdviceFor(cause workflow.CauseKind) Advice {
	if advice, known := adviceByCause[cause]; known {
		return advice
	}
	return Advice{Text: "read its output"}
}

// Sentence returns the advice with the command that carries it out.
func (a Advice) Sentence(workflowID int64) string {
	if a.Recover {
		text := fmt.Sprintf("%s: `torc-slurm recover %d` runs it again", a.Text, workflowID)
		if a.more {
			text += " with more"
		}
		return text
	}
	return fmt.Sprintf("%s, then `torc-slurm reset --failed-only %d`", a.Text, workflowID)
}

// AdviseAll returns the advice for the first of several failed jobs that recover
// runs again. If there is none, it returns the advice for the first job; ok is
// false if there are no jobs.
func AdviseAll(causes []workflow.CauseKind) (advice Advice, ok bool) {
	for i, cause := range causes {
		if a := AdviceFor(cause); i == 0 || a.Recover && !advice.Recover {
			advice, ok = a, true
		}
	}
	return advice, ok
}
