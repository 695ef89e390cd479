package explain

import (
	"strings"
	"testing"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

// TestNextAfterAFailure checks that the text names the command that helps, for the job and
// for its workflow.
func TestNextAfterAFailure(t *testing.T) {
	for cause, want := range map[workflow.CauseKind]string{
		workflow.CauseOOM:      "nothing by itself; it needs more memory: `torc-slurm recover 12` runs it again with more",
		workflow.CauseNodeFail: "nothing by itself; its node was at fault: `torc-slurm recover 12` runs it again",
		workflow.CauseExit:     "nothing by itself; fix the error that its command printed on stderr, then `torc-slurm reset --failed-only 12`",
	} {
		f := JobFacts{Job: workflow.Job{ID: 1, WorkflowID: 12, Status: workflow.Failed}, Attempts: []workflow.Attempt{{Status: workflow.Failed, Cause: workflow.Cause{Kind: cause}}}}
		if got := Job(f).Next; got != want {
			t.Errorf("job, %s: %q", cause, got)
		}
		w := WorkflowFacts{ID: 12, Counts: stage.Counts{ByStatus: workflow.StatusCounts{workflow.Failed: 1}}, FailedCount: 1, Failures: []FailureFact{{Name: "train", Cause: workflow.Cause{Kind: cause}}}}
		if got := Workflow(w).Next; !strings.HasPrefix(got, strings.Split(want, "; ")[0]+"; train: ") || !strings.HasSuffix(got, strings.SplitN(want, "; ", 2)[1]) {
			t.Errorf("workflow, %s: %q", cause, got)
		}
	}
}
