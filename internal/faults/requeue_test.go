package faults

import (
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/slurm/slurmtest"
)

// TestRequeueBeforeTheFirstClaim: the runner finds no daemon until Slurm ends it to
// requeue it; the job's second start does the work.
func TestRequeueBeforeTheFirstClaim(t *testing.T) {
	t.Parallel()
	w := newWorld(t, slurmtest.UseReal(t), "requeue=true")
	first := w.preempt("n2", 300)
	id := w.submit(shape("standby", "n2", 10*time.Minute) + sweep(2, 3, ""))
	job := w.allocations(id)[0].SlurmJobID
	w.killDaemon()
	if err := w.user.Cancel(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	w.eventually(patience, "the allocation runs", func() bool { return w.slurmState(job) == slurm.Running })
	w.preempt("n2", 4)
	w.eventually(patience, "Slurm requeues it", func() bool { return w.slurmState(job) == slurm.Pending })
	w.startDaemon()
	w.eventually(patience, "Slurm starts it again", func() bool { return w.slurmState(job) == slurm.Running })
	w.settle(id, nil)
	restarts := w.allocations(id)
	w.expectPreempted(restarts[0].ID)
	if len(restarts) == 2 { // no job of another test preempted the second one
		w.expectOneAttempt(id)
	}
}
