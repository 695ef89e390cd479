package explain_test

import (
	"testing"

	. "github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/explain"
)

// TestExplanationOfOddNames checks that names and messages can neither break their line nor
// send control characters to a terminal.
func TestExplanationOfOddNames(t *testing.T) {
	e := explain.Workflow(explain.WorkflowFacts{ID: 1, Name: "a\nb", RunID: 1,
		FailedCount: 1, Failures: []explain.FailureFact{{Name: "x\ny \x1b[31m", Attempt: 1, Cause: Cause{Kind: CauseExit, Text: "tab\there, größe 日本"}}},
	})
	want := "workflow 1 \"a\\nb\": has no jobs\n\nfailures\n  x y  [31m, attempt 1: tab here, größe 日本\n\nnext: nothing\n"
	if got := e.String(); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
