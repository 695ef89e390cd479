package faults

import (
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm/slurmtest"
)

// TestAccountingFails: sacct fails throughout, while the allocation is canceled from
// outside and jobs need another one.
func TestAccountingFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t, slurmtest.UseReal(t))
	w.fault("sacct", `echo 'sacct: error: Problem talking to the database: Connection refused' >&2; exit 1`)
	id := w.submit(shape("scavenge", "n4", 10*time.Minute) + sweep(6, 8, ""))
	w.untilRunning(id, 2)
	w.preempt("n4", 4)
	w.settle(id, nil)
}

// TestProgramsFail: all programs of Slurm fail for a while, with garbage, with nothing,
// and with errors; a running allocation is not considered gone.
func TestProgramsFail(t *testing.T) {
	t.Parallel()
	w := newWorld(t, slurmtest.UseReal(t))
	id := w.submit(shape("debug", "n3", 10*time.Minute) + sweep(6, 12, ""))
	w.untilRunning(id, 2)
	for _, script := range []string{`exit 0`, `echo 'Lustre: 11-0: @#$%^'; exit 0`, `echo "$name: error: Unable to contact slurm controller (connect failure)" >&2; exit 1`} {
		for _, program := range []string{"squeue", "sacct", "scontrol"} {
			w.fault(program, script)
		}
		before := len(w.calls())
		w.eventually(time.Minute, "Slurm is polled", func() bool { return len(w.calls()) >= before+3 })
	}
	for _, program := range []string{"squeue", "sacct", "scontrol"} {
		w.endFault(program)
	}
	w.settle(id, nil)
	w.expectOneAttempt(id)
}
