package explain

import (
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// Advice is what a person can do about a job that was not successful.
type Advice struct {
	// Recover: the command recover repeats it, with what it lacked.
	Recover bool
	Text    string // what it takes
	more    bool   // recover gives it more of that
}

// adviceByCause is what to do about each cause of a failure for good.
var adviceByCause = map[workflow.CauseKind]Advice{
	workflow.CauseExit:          {Text: "mend what its command said on stderr"},
	workflow.CauseSignal:        {Text: "find out who or what ended its process"},
	workflow.CauseOOM:           {Recover: true, Text: "it needs more memory", more: true},
	workflow.CauseOOMPartial:    {Recover: true, Text: "it needs more memory", more: true},
	workflow.CauseTimeout:       {Recover: true, Text: "it needs more time", more: true},
	workflow.CauseWalltime:      {Recover: true, Text: "it needs more time, or an allocation with more left"},
	workflow.CauseNodeFail:      {Recover: true, Text: "its node was at fault"},
	workflow.CausePreempted:     {Recover: true, Text: "its allocation was taken away"},
	workflow.CauseCanceledUser:  {Text: "its owner canceled it"},
	workflow.CauseCanceledAdmin: {Recover: true, Text: "somebody else canceled its allocation"},
	workflow.CauseLaunch:        {Text: "mend what kept its command from starting"},
	workflow.CauseOutputMissing: {Text: "its command ended well but did not write all of its output files: correct it, or their paths"},
	workflow.CauseDiskFull:      {Text: "make room where it writes"},
	workflow.CauseLost:          {Recover: true, Text: "nobody knows how it ended"},
	workflow.CauseSubWorkflow:   {Text: "mend the jobs of its sub-workflow"},
	workflow.CauseNeverStarted:  {Recover: true, Text: "it never started"},
}

// AdviceFor returns what to do about a job whose last attempt ended for a cause.
// A cause that nobody has named has none but to repeat it.
func AdviceFor(cause workflow.CauseKind) Advice {
	if advice, known := adviceByCause[cause]; known {
		return advice
	}
	return Advice{Text: "look at its output"}
}

// Sentence is the advice with the command that follows it.
func (a Advice) Sentence(workflowID int64) string {
	if a.Recover {
		text := fmt.Sprintf("%s: `torc-slurm recover %d` repeats it", a.Text, workflowID)
		if a.more {
			text += " with more"
		}
		return text
	}
	return fmt.Sprintf("%s, then `torc-slurm reset --failed-only %d`", a.Text, workflowID)
}

// AdviseAll returns what to do about several failed jobs: that of the first that
// recover repeats, else that of the first.
func AdviseAll(causes []workflow.CauseKind) (advice Advice, ok bool) {
	for i, cause := range causes {
		if a := AdviceFor(cause); i == 0 || a.Recover && !advice.Recover {
			advice, ok = a, true
		}
	}
	return advice, ok
}
