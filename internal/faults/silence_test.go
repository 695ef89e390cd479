package faults

import (
	"fmt"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm/slurmtest"
)

// TestClientsFail and TestClientsHang: for a minute no program of Slurm does anything for
// the daemon. A running workflow continues, and one that is submitted in the meantime
// runs afterwards.
func TestClientsFail(t *testing.T) {
	t.Parallel()
	newWorld(t, slurmtest.UseReal(t)).clients(`echo "$name: error: something is wrong" >&2; exit 1`)
}

func TestClientsHang(t *testing.T) {
	t.Parallel()
	newWorld(t, slurmtest.UseReal(t), "call_timeout_secs=5").clients(`exec sleep 1000`)
}

func (w *world) clients(script string) {
	first := w.submit(shape("debug", "", 10*time.Minute) + sweep(6, 8, ""))
	w.untilRunning(first, 2)
	for _, program := range programs {
		w.fault(program, fmt.Sprintf(`if [ -z "$SLURM_JOB_ID" ]; then %s; fi`, script))
	}
	second := w.submit(shape("debug", "", 10*time.Minute) + sweep(2, 3, ""))
	w.waitFor(time.Minute, "Slurm's programs fail")
	for _, program := range programs {
		w.endFault(program)
	}
	for _, id := range []int64{first, second} {
		w.settle(id, nil)
		w.expectOneAttempt(id)
	}
}
