package scheduler

import (
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// preempted has an allocation lose its runner and its job long before its end,
// where Slurm may start it again.
func (w *world) preempted() compute.Allocation {
	w.Helper()
	w.scheduler.Settings.Requeue = true
	w.jobs(1, 1, "1g", "PT10M")
	w.submit(nil)
	a := w.allocations(true)[0]
	runner, _ := w.start(a)
	w.now = w.now.Add(time.Second)
	_, err := w.store.Runners.Leave(w.Context(), runner, lease.LeaveRequest{})
	w.must(err)
	return a
}

// requeued has Slurm put an allocation back into its queue.
func (w *world) requeued(a compute.Allocation) {
	w.Helper()
	w.must(w.store.Allocations.Observe(w.Context(), []store.Observation{{AllocationID: a.ID, State: compute.AllocationPending, SlurmState: "PENDING", SlurmReason: "BeginTime", RestartCount: 1}}))
	w.end(a, compute.AllocationPreempted)
}

// TestARequeuedAllocationIsNotAskedForAgain, neither before the daemon has heard
// of its other life nor after, and it is not canceled.
func TestARequeuedAllocationIsNotAskedForAgain(t *testing.T) {
	w := newWorld(t)
	a := w.preempted()
	polls := 0
	w.scheduler.Poll = func() { polls++ }
	for range 3 {
		if r := w.after(5 * time.Second); w.asked != 1 || len(r.Canceled) != 0 || r.Covered[0].Pending != 1 {
			t.Fatalf("nobody has looked yet: %+v", r)
		}
	}
	if polls != 1 {
		t.Errorf("Slurm was to be looked at %d times", polls)
	}
	w.requeued(a)
	for range 3 {
		if r := w.after(time.Minute); w.asked != 1 || len(r.Canceled) != 0 || r.Covered[0].Pending != 1 {
			t.Fatalf("Slurm starts it again: %+v", r)
		}
	}
}

// TestARequeueThatTakesLong: another allocation is faster.
func TestARequeueThatTakesLong(t *testing.T) {
	w := newWorld(t)
	w.requeued(w.preempted())
	w.scheduler.Eligible = func(int64) time.Time { return w.now.Add(time.Hour) }
	if r := w.look(); len(r.Asked) != 1 || len(r.Canceled) != 1 {
		t.Errorf("%+v", r)
	}
	if r := w.after(time.Minute); len(r.Asked)+len(r.Canceled) != 0 {
		t.Errorf("again: %+v", r)
	}
}

// TestWhatDoesNotComeBack is requested anew, soon.
func TestWhatDoesNotComeBack(t *testing.T) {
	w := newWorld(t)
	w.preempted()
	if r := w.look(); len(r.Asked) != 0 || r.Next.Sub(w.now) != 30*time.Second {
		t.Errorf("%+v", r)
	}
	if r := w.after(30 * time.Second); len(r.Asked) != 1 || len(r.Canceled) != 0 {
		t.Errorf("%+v", r)
	}
}
