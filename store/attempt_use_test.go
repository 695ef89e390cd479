package store

import (
	"testing"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/usage"
)

func TestAttemptUses(t *testing.T) {
	r := newRig(t, independent(2)...)
	h := r.hand("n1", 8)
	h.turn()
	first := exited(h.held[0].LeaseRef, 0)
	first.StartedMS, first.EndedMS = r.now.UnixMilli()-20_000, r.now.UnixMilli()
	h.turn(first, exited(h.held[1].LeaseRef, 3))
	uses := func(workflowID int64, run *int64) (all []usage.Attempt, err error) {
		err = r.Jobs.AttemptUses(r.ctx, workflowID, run, func(a *usage.Attempt) { all = append(all, *a) })
		return all, err
	}
	all, err := uses(r.workflow, nil)
	r.must(err)
	if len(all) != 2 || all[0].Status != workflow.Completed || all[0].Seconds != 20 || all[0].CPUs != 1 || all[0].RuntimeSeconds != 60 || all[0].PeakMemoryBytes != nil ||
		all[1].Status != workflow.Failed || all[1].Cause != "exit" || all[1].Seconds != 1 {
		t.Errorf("%+v", all)
	}
	one, err := uses(r.workflow, new(int64(1)))
	r.must(err)
	other, err := uses(r.workflow, new(int64(2)))
	r.must(err)
	if len(one) != 2 || len(other) != 0 {
		t.Errorf("run 1 has %d attempts, run 2 has %d", len(one), len(other))
	}
	if _, err := uses(r.workflow+1, nil); workflow.CodeOf(err) != workflow.CodeNotFound {
		t.Errorf("an unknown workflow: %v", err)
	}
}
