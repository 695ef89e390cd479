package hold

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func TestGroupHeld(t *testing.T) {
	held := func(id, workflowID, since int64, stderr string) HeldJob {
		return NewHeldJob(id, workflowID, "j", workflow.Hold{Reason: "no rule", SinceMS: since}, workflow.Cause{Kind: workflow.CauseExit, ReturnCode: 1, Text: "exit code 1"}, workflow.Evidence{StderrTail: stderr})
	}
	groups := GroupHeld([]HeldJob{held(9, 2, 50, "x 1"), held(5, 1, 40, "y 3"), held(4, 1, 60, "y 2"), held(3, 1, 70, "x 9")})
	type short struct {
		Workflow, Example, Since int64
		Jobs                     []int64
		Lines                    []string
	}
	var got []short
	for _, g := range groups {
		got = append(got, short{g.WorkflowID, g.ExampleID, g.SinceMS, g.JobIDs, g.LastLines})
		if g.Count != len(g.JobIDs) || g.Reason != "no rule" || g.CauseText != "exit code 1" {
			t.Errorf("group %+v", g)
		}
	}
	want := []short{
		{1, 4, 40, []int64{4, 5}, []string{"y 2"}},
		{1, 3, 70, []int64{3}, []string{"x 9"}},
		{2, 9, 50, []int64{9}, []string{"x 1"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
	if groups[1].Fingerprint != groups[2].Fingerprint {
		t.Error("the same failure has another fingerprint in another workflow")
	}
	if got := GroupHeld(nil); got == nil || len(got) != 0 {
		t.Errorf("no jobs: %v", got)
	}
}
