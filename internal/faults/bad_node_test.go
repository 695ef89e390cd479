package faults

import (
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm/slurmtest"
)

// TestNodeLaunchesNothing: no step can be started on one node. Its jobs run on another.
func TestNodeLaunchesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, slurmtest.UseReal(t))
	w.fault("srun", `if [ ! -e "DIR/bad" ]; then echo "$SLURMD_NODENAME" >"DIR/bad"; fi
if [ "$SLURMD_NODENAME" = "$(<"DIR/bad")" ]; then echo 'srun: error: Unable to create step for job 1: Error generating job credential' >&2; exit 1; fi`)
	id := w.submit("execution_config: {mode: slurm}\n" + shape("debug", "", 10*time.Minute) + sweep(4, 3, ""))
	w.settle(id, nil)
	bad := w.lines("bad")[0]
	w.expectAttempts(id, "launch")
	for _, j := range w.allJobs(id) {
		attempts, err := w.client.Jobs.Attempts(t.Context(), *j.ID)
		if err != nil {
			t.Fatal(err)
		}
		if len(attempts) > 2 {
			t.Errorf("job %s had %d attempts\n%s", j.Name, len(attempts), w.why(*j.ID))
		}
	}
	t.Logf("nothing could be launched on %s", bad)
}

// TestNodesWithoutFolder: three of four nodes do not see the workflow's folder, so
// allocations fail there before they have a runner.
func TestNodesWithoutFolder(t *testing.T) {
	real := slurmtest.UseRealAlone(t)
	w := newWorld(t, real)
	real.Hide(t, w.dir, "n1", "n2", "n3")
	real.Stop(t, "n4") // Slurm prefers nodes that have not restarted
	real.Start(t, "n4")
	id := w.submit(shape("debug", "", 10*time.Minute) + sweep(4, 3, ""))
	w.settle(id, nil)
	w.expectOneAttempt(id)
	if n := w.submissions(); n > 6 {
		t.Errorf("sbatch was called %d times for three bad nodes", n)
	}
}
