package workflow

import (
	"strings"
	"testing"
)

// TestAdviceAgreesWithRecover: what is said to be repeated by recover is, and
// nothing else, for each cause that there is.
func TestAdviceAgreesWithRecover(t *testing.T) {
	for cause, advice := range adviceByCause {
		job := FailedJob{Cause: cause}
		if recovers := job.Group() != GroupUnknown; recovers != advice.Recover || advice.Text == "" {
			t.Errorf("%s: recover takes it: %t, the advice is %+v", cause, recovers, advice)
		}
	}
	for _, cause := range CauseKinds() {
		if _, known := adviceByCause[cause]; !known && cause != CauseOK {
			t.Errorf("no advice for %s", cause)
		}
	}
}

// TestNextAfterAFailure names the command that helps, of the job and of its workflow.
func TestNextAfterAFailure(t *testing.T) {
	for cause, want := range map[CauseKind]string{
		CauseOOM:      "nothing by itself; it needs more memory: `torc-slurm recover 12` repeats it with more",
		CauseNodeFail: "nothing by itself; its node was at fault: `torc-slurm recover 12` repeats it",
		CauseExit:     "nothing by itself; mend what its command said on stderr, then `torc-slurm reset --failed-only 12`",
	} {
		f := JobFacts{Job: Job{ID: 1, WorkflowID: 12, Status: Failed}, Attempts: []Attempt{{Status: Failed, Cause: Cause{Kind: cause}}}}
		if got := Explain(f).Next; got != want {
			t.Errorf("job, %s: %q", cause, got)
		}
		w := WorkflowFacts{ID: 12, Counts: Counts{ByStatus: StatusCounts{Failed: 1}}, FailedCount: 1, Failures: []FailureFact{{Name: "train", Cause: Cause{Kind: cause}}}}
		if got := ExplainWorkflow(w).Next; !strings.HasPrefix(got, strings.Split(want, "; ")[0]+"; train: ") || !strings.HasSuffix(got, strings.SplitN(want, "; ", 2)[1]) {
			t.Errorf("workflow, %s: %q", cause, got)
		}
	}
}
