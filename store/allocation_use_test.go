package store

import (
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

func TestAllocationUses(t *testing.T) {
	r := newRig(t, independent(8)...)
	use := func() compute.AllocationUse {
		t.Helper()
		uses, err := r.Allocations.Uses(r.ctx, r.workflow)
		r.must(err)
		if len(uses) != 2 || uses[1].CPUs != 0 || uses[1].JobCPUSeconds != 0 {
			t.Fatalf("want two allocations, the second unused: %+v", uses)
		}
		return uses[0]
	}
	const intent = "00000000000000aa"
	r.intend(intent)
	r.intend("00000000000000bb")
	r.adopt(intent, 70, 0)
	if u := use(); u.CPUs != 0 || u.JobCPUSeconds != 0 {
		t.Errorf("no runner has come, but: %+v", u)
	}
	h := r.join(intent, 70, 0)
	h.turn()
	r.now = r.now.Add(10 * time.Second) // claimed jobs use nothing
	h.start(3)
	r.now = r.now.Add(30 * time.Second)
	if u := use(); u.CPUs != 8 || u.JobCPUSeconds != 3*30 {
		t.Errorf("three jobs run for 30 s: %+v", u)
	}
	first := exited(h.held[0].LeaseRef, 0)
	first.StartedMS, first.EndedMS = r.now.UnixMilli()-20_000, r.now.UnixMilli()
	h.turn(first)
	if u := use(); u.JobCPUSeconds != 20+2*30 {
		t.Errorf("one has ended after 20 s: %+v", u)
	}
	if _, err := r.Allocations.Uses(r.ctx, r.workflow+1); workflow.CodeOf(err) != workflow.CodeNotFound {
		t.Errorf("an unknown workflow: %v", err)
	}
}
