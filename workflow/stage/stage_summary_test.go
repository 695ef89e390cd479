package stage_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	. "github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

// What runs and what failed is shown first, and not everything.
func TestSummarizeStages(t *testing.T) {
	jobs := func(status JobStatus, n int64) (c StatusCounts) {
		c[status] = n
		return c
	}
	stages := []stage.Stage{
		{Name: "done", Kind: StageChild, State: stage.Ended, Counts: jobs(Completed, 2)},
		{Name: "bad", Kind: StageChild, State: stage.Ended, Counts: jobs(Failed, 2)},
		{Name: "undo", Kind: StageCompensation, State: stage.Running, Counts: jobs(Ready, 1)},
		{Name: "busy", Kind: StageChild, State: stage.Running, Counts: jobs(Running, 2)},
		{Name: "end", Kind: StageEnd, State: stage.Ended, Counts: jobs(Failed, 1)},
	}
	for i := range 7 {
		stages = append(stages, stage.Stage{Name: fmt.Sprintf("later_%d", i), Kind: StageChild, State: stage.NotStarted, Counts: jobs(Blocked, 1)})
	}
	s := stage.Summarize(stages)
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
