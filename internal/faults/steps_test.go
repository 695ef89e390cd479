package faults

import (
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm/slurmtest"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// TestControllerAwayFromSteps: slurmctld is down for 40 s while jobs run as steps
// and others are to be started. Those that it refuses to start wait: that is no
// attempt.
func TestControllerAwayFromSteps(t *testing.T) {
	real := slurmtest.UseRealAlone(t)
	w := newWorld(t, real)
	id := w.submit("execution_config: {mode: slurm}\n" + shape("debug", "n1", 10*time.Minute) + sweep(12, 8, ""))
	w.untilRunning(id, 2)
	w.pass(6*time.Second, "slurmctld has saved its state")
	real.Stop(t, "slurmctld")
	w.pass(40*time.Second, "slurmctld is away")
	if n := len(w.events(id, workflow.EventLaunchPaused)); n != 1 {
		t.Errorf("%d events say that no jobs are started, want 1", n)
	}
	t.Logf("%d starts were taken back", len(w.events(id, workflow.EventJobNotStarted)))
	real.Start(t, "slurmctld")
	w.settle(id, nil)
	w.expectOneAttempt(id)
	if n := len(w.allocations(id)); n != 1 {
		t.Errorf("%d allocations, want 1", n)
	}
}
