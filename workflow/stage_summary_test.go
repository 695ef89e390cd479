package workflow_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	. "github.com/torc-slurm/torc-slurm/workflow"
)

// What runs and what failed is shown first, and not everything.
func TestSummarizeStages(t *testing.T) {
	jobs := func(status JobStatus, n int64) (c StatusCounts) {
		c[status] = n
		return c
	}
	stages := []Stage{
		{Name: "done", Kind: StageChild, State: StageEnded, Counts: jobs(Completed, 2)},
		{Name: "bad", Kind: StageChild, State: StageEnded, Counts: jobs(Failed, 2)},
		{Name: "undo", Kind: StageCompensation, State: StageRunning, Counts: jobs(Ready, 1)},
		{Name: "busy", Kind: StageChild, State: StageRunning, Counts: jobs(Running, 2)},
		{Name: "end", Kind: StageEnd, State: StageEnded, Counts: jobs(Failed, 1)},
	}
	for i := range 7 {
		stages = append(stages, Stage{Name: fmt.Sprintf("later_%d", i), Kind: StageChild, State: StageNotStarted, Counts: jobs(Blocked, 1)})
	}
	s := SummarizeStages(stages)
	if diff := cmp.Diff([]string{
		"busy (child), running: 0 of 2 jobs done", "end (end), ended: 1 of 1 job done, 1 failed", "bad (child), ended: 2 of 2 jobs done, 2 failed",
		"later_0 (child), not started: 0 of 1 job done", "later_1 (child), not started: 0 of 1 job done", "later_2 (child), not started: 0 of 1 job done",
		"later_3 (child), not started: 0 of 1 job done", "later_4 (child), not started: 0 of 1 job done", "and 3 more",
	}, s.Lines()); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	if !s.EndJobFailed() {
		t.Error("nothing is known of the end job")
	}
}
