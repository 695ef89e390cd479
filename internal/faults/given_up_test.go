package faults

import (
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm/slurmtest"
)

// TestRunnerContinuedTooLate: a runner is stopped, and cut off from Slurm so that it
// survives the end of its allocation. Its jobs are repeated; then it continues. Its
// reports change nothing, and the processes that it left running are killed.
func TestRunnerContinuedTooLate(t *testing.T) {
	real := slurmtest.UseRealAlone(t)
	w := newWorld(t, real)
	id := w.submit(shape("debug", "", 10*time.Minute) + sweep(2, 12, "linger"))
	a := w.untilRunning(id, 2)
	w.eventually(time.Minute, "the daemon knows the node", func() bool { return w.allocation(a.ID).NodeList != "" })
	node := w.allocation(a.ID).NodeList
	late := w.runner()
	real.Kill(t, node)
	w.signal(late, syscall.SIGSTOP)
	t.Cleanup(func() { _ = syscall.Kill(late, syscall.SIGKILL) })
	w.eventually(3*time.Minute, "the jobs are repeated", func() bool { return len(w.secondAttempts()) == 2 })
	w.signal(late, syscall.SIGCONT)
	w.settle(id, nil)
	// Slurm may miss the node before the daemon misses the runner.
	causes := []string{"node_fail", "preempted"}
	for _, j := range w.allJobs(id) {
		attempts, err := w.client.Jobs.Attempts(t.Context(), *j.ID)
		if err != nil {
			t.Fatal(err)
		}
		if len(attempts) != 2 || !slices.Contains(causes, attempts[0].Cause) || attempts[1].Cause != "ok" {
			t.Errorf("job %s had other attempts than one that was lost with its node and one that succeeded\n%s", j.Name, w.why(*j.ID))
		}
	}
}

// secondAttempts returns the jobs that have reported the start of a second attempt.
func (w *world) secondAttempts() (names []string) {
	for _, line := range w.lines("journal") {
		if f := strings.Fields(line); f[0] == "start" && f[2] == "2" {
			names = append(names, f[1])
		}
	}
	return names
}
