package faults

import (
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/slurm/slurmtest"
)

// TestCanceledByUser: a user who cancels an allocation by hand wants its jobs to stop;
// the others get another allocation.
func TestCanceledByUser(t *testing.T) {
	t.Parallel()
	w := newWorld(t, slurmtest.UseReal(t))
	w.scancel(w.user, "n1", "canceled_user", "canceled by its owner")
}

func TestCanceledByRoot(t *testing.T) {
	t.Parallel()
	w := newWorld(t, slurmtest.UseReal(t))
	w.scancel(w.root, "n2", "canceled_admin", "canceled by root")
}

// scancel ends the allocation of a running workflow from outside.
func (w *world) scancel(by *slurm.Client, node, cause, text string) {
	t := w.t
	id := w.submit(shape("debug", node, 10*time.Minute) + sweep(6, 10, ""))
	a := w.untilRunning(id, 2)
	stopped := w.running()
	if err := by.Cancel(t.Context(), slurm.JobID{Number: a.SlurmJobID}); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for _, name := range stopped {
		want[name] = "canceled"
	}
	w.settle(id, want)
	w.expectCause(a.ID, cause, text)
	w.expectWhy(id, stopped[0], cause)
}

// TestCancelCommand: after `cancel`, nothing of the workflow is left.
func TestCancelCommand(t *testing.T) {
	t.Parallel()
	w := newWorld(t, slurmtest.UseReal(t))
	id := w.submit(shape("debug", "n3", 10*time.Minute) + sweep(4, 60, ""))
	w.untilRunning(id, 2)
	w.run("cancel", "--no-prompts", text(id))
	w.settleAllocations(id)
	for _, j := range w.allJobs(id) {
		if j.Status.IsLive() {
			t.Errorf("job %s is %s", j.Name, j.Status)
		}
	}
}
