package faults

import (
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm/slurmtest"
)

// overdue is a job that exceeds its time limit and ignores the signal at its end, beside
// one that does not.
const overdue = `compute_node_wait_for_new_jobs_seconds: 0
resource_requirements: [{name: small, num_cpus: 1, memory: 100m, runtime: PT30S}]
jobs:
  - {name: good, command: ./job.sh 3, resource_requirements: small, timeouts: {run: {after: PT20S}}}
  - {name: slow, command: ./job.sh 300 ignore, resource_requirements: small, timeouts: {run: {after: PT6S, grace: PT2S}}}
actions: [{trigger_type: auto_schedule_on_ready_jobs, scheduler: s, max_ready_age: PT1S, max_submit_per_minute: 30}]
`

func TestTimeLimitDirect(t *testing.T) {
	t.Parallel()
	newWorld(t, slurmtest.UseReal(t)).timeLimit("direct")
}

func TestTimeLimitSteps(t *testing.T) {
	t.Parallel()
	newWorld(t, slurmtest.UseReal(t)).timeLimit("slurm")
}

// timeLimit runs a job that is ended because of its time limit.
func (w *world) timeLimit(mode string) {
	id := w.submit("execution_config: {mode: " + mode + "}\n" + shape("debug", "", 10*time.Minute) + overdue)
	w.settle(id, map[string]string{"slow": "terminated"})
	w.expectOneAttempt(id)
	w.expectWhy(id, "slow", "timeout")
}

// TestShortWalltimes: allocations that are shorter than the usual margins, and than
// Slurm's minimum of one minute.
func TestShortWalltimes(t *testing.T) {
	t.Parallel()
	for name, walltime := range map[string]time.Duration{"Minute": time.Minute, "HalfAMinute": 30 * time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, slurmtest.UseReal(t))
			id := w.submit(shape("debug", "", walltime) + sweep(24, 6, ""))
			w.settle(id, nil)
			w.expectOneAttempt(id)
		})
	}
}
