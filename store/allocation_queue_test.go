package store

import (
	"testing"

	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

func TestAllocationQueue(t *testing.T) {
	r := newRig(t, independent(8)...)
	queue := func(workflowID int64, ended bool) []QueuedAllocation {
		t.Helper()
		q, err := r.Allocations.Queue(r.ctx, workflowID, ended)
		r.must(err)
		return q
	}
	const intent = "00000000000000aa"
	a := r.intend(intent)
	r.intend("00000000000000bb")
	r.adopt(intent, 70, 0)
	h := r.join(intent, 70, 0)
	h.turn()
	h.start(3)
	code := int64(0)
	done := func(ref lease.LeaseRef) lease.Report {
		return lease.Report{LeaseRef: ref, StartedMS: 1, EndedMS: 2, Evidence: workflow.Evidence{ExitCode: &code}}
	}
	h.turn(done(h.held[0].LeaseRef), done(h.held[1].LeaseRef))

	q := queue(0, false)
	if len(q) != 2 || q[0].ID != a.ID || q[0].WorkflowName == "" {
		t.Fatalf("got %+v", q)
	}
	if want := (view.AllocationWork{Runners: 1, Running: 6, Completed: 2}); q[0].AllocationWork != want {
		t.Errorf("work %+v, want %+v", q[0].AllocationWork, want)
	}
	if q[1].AllocationWork != (view.AllocationWork{}) {
		t.Errorf("nobody has come, but %+v", q[1].AllocationWork)
	}

	r.must(r.Allocations.End(r.ctx, a.ID, compute.AllocationEnd{Cause: compute.AllocationNodeFail}))
	if q := queue(r.workflow, false); len(q) != 1 || q[0].ID == a.ID {
		t.Errorf("live ones: %+v", q)
	}
	q = queue(r.workflow, true)
	if len(q) != 2 {
		t.Fatalf("all: %+v", q)
	}
	if w := q[0].AllocationWork; w.Running != 0 || w.Runners != 0 || w.Completed != 2 || w.Failed == 0 {
		t.Errorf("after its end: %+v", w)
	}
	if _, err := r.Allocations.Queue(r.ctx, 99, true); workflow.CodeOf(err) != workflow.CodeNotFound {
		t.Errorf("of no workflow: %v", err)
	}
}
