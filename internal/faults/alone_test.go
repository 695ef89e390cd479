package faults

import (
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm/slurmtest"
)

// TestControllerDown: slurmctld is down for a minute while jobs run and end.
func TestControllerDown(t *testing.T) {
	real := slurmtest.UseRealAlone(t)
	w := newWorld(t, real)
	id := w.submit(shape("debug", "n1", 10*time.Minute) + sweep(8, 8, ""))
	w.untilRunning(id, 2)
	real.Stop(t, "slurmctld")
	w.waitFor(time.Minute, "slurmctld is down")
	if w.ended() < 4 {
		t.Errorf("%d jobs ended without slurmctld, want 4", w.ended())
	}
	real.Start(t, "slurmctld")
	w.settle(id, nil)
	w.expectOneAttempt(id)
}

// TestAccountingDown: slurmdbd is down throughout, while the allocation is preempted and
// its jobs need another one.
func TestAccountingDown(t *testing.T) {
	real := slurmtest.UseRealAlone(t)
	real.Stop(t, "slurmdbd")
	w := newWorld(t, real)
	id := w.submit(shape("scavenge", "n4", 10*time.Minute) + sweep(6, 8, ""))
	w.untilRunning(id, 2)
	w.preempt("n4", 4)
	w.settle(id, nil)
}

// TestNodeFails: the slurmd of a node dies, and Slurm marks the node as down.
func TestNodeFails(t *testing.T) {
	real := slurmtest.UseRealAlone(t)
	w := newWorld(t, real)
	id := w.submit(`slurm_schedulers: [{name: s, account: research, partition: debug, mem: 2500M, nodes: 1, walltime: "00:10:00", extra: "--cpus-per-task=2"}]
` + sweep(4, 30, ""))
	a := w.untilRunning(id, 2)
	w.eventually(time.Minute, "the daemon knows the node", func() bool { return w.allocation(a.ID).NodeList != "" })
	a = *w.allocation(a.ID)
	real.Kill(t, a.NodeList)
	w.eventually(2*time.Minute, "the allocation ends", func() bool { return w.allocation(a.ID).State == "ended" })
	w.expectCause(a.ID, "node_fail", a.NodeList)
	w.settle(id, nil)
	w.expectAttempts(id, "node_fail")
}
