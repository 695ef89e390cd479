package faults

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/slurm/slurmtest"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// TestControllerDownWithSteps: slurmctld is down for 40 s while jobs run as steps and
// others are about to start. Those that it refuses to start wait, without using an
// attempt.
func TestControllerDownWithSteps(t *testing.T) {
	real := slurmtest.UseRealAlone(t)
	w := newWorld(t, real)
	id := w.submit("execution_config: {mode: slurm}\n" + shape("debug", "n1", 10*time.Minute) + sweep(12, 8, ""))
	w.untilRunning(id, 2)
	w.waitFor(6*time.Second, "slurmctld has saved its state")
	real.Stop(t, "slurmctld")
	w.waitFor(40*time.Second, "slurmctld is down")
	if n := len(w.events(id, workflow.EventLaunchPaused)); n != 1 {
		t.Errorf("%d events say that no jobs are started, want 1", n)
	}
	t.Logf("%d starts were reverted", len(w.events(id, workflow.EventJobNotStarted)))
	real.Start(t, "slurmctld")
	w.settle(id, nil)
	w.expectOneAttempt(id)
	if n := len(w.allocations(id)); n != 1 {
		t.Errorf("%d allocations, want 1", n)
	}
}

// TestAllocationStartsWithoutDaemon: the allocation waits in the queue, the daemon is
// killed, and returns when the allocation has been running for a while. Its runner has
// waited, and reconnects within seconds.
func TestAllocationStartsWithoutDaemon(t *testing.T) {
	t.Parallel()
	w := newWorld(t, slurmtest.UseReal(t))
	w.fault("sbatch", `real --begin=now+15 "$@"; exit $?`)
	id := w.submit(shape("debug", "n2", 10*time.Minute) + sweep(4, 4, ""))
	w.eventually(time.Minute, "the allocation waits", func() bool {
		all := w.allocations(id)
		return len(all) == 1 && all[0].SlurmJobID != 0
	})
	w.killDaemon()
	w.eventually(2*time.Minute, "it runs", func() bool {
		queue, err := w.user.Queue(t.Context(), slurm.QueueQuery{User: slurmtest.TestUser})
		return err == nil && slices.ContainsFunc(queue.Jobs, func(j slurm.Job) bool {
			return strings.Contains(j.Name, w.name()) && j.State == slurm.Running
		})
	})
	w.waitFor(20*time.Second, "it runs without a daemon")
	back := time.Now()
	w.startDaemon()
	w.eventually(time.Minute, "a job runs", func() bool { return len(w.running()) > 0 })
	t.Logf("a job ran %s after the daemon's return", time.Since(back).Round(100*time.Millisecond))
	w.settle(id, nil)
	w.expectOneAttempt(id)
	if n := len(w.allocations(id)); n != 1 {
		t.Errorf("%d allocations, want 1", n)
	}
}
