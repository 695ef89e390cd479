package faults

import (
	"fmt"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm/slurmtest"
)

// long is jobs that claim to be short enough for their allocation, and are not.
func long(n, seconds int, manner string) string {
	return fmt.Sprintf(`resource_requirements: [{name: small, num_cpus: 1, memory: 100m, runtime: PT5S}]
compute_node_wait_for_new_jobs_seconds: 0
execution_config: {sigterm_lead_seconds: 10}
parameters: {i: "1:%d"}
jobs: [{name: "job{i}", command: "./job.sh %d %s", resource_requirements: small, use_parameters: [i]}]
slurm_schedulers: [{name: s, account: research, partition: debug, mem: 1000M, nodes: 1, walltime: "00:01:00", extra: "--cpus-per-task=2"}]
actions: [{trigger_type: auto_schedule_on_ready_jobs, scheduler: s, max_ready_age: PT1S, max_submit_per_minute: 30}]
`, n, seconds, manner)
}

// TestWalltimeCheckpoint: jobs that save their state and exit successfully when they are
// told that their time is over are completed.
func TestWalltimeCheckpoint(t *testing.T) {
	t.Parallel()
	w := newWorld(t, slurmtest.UseReal(t))
	id := w.submit(long(2, 300, "checkpoint"))
	a := w.untilRunning(id, 2)
	w.settle(id, nil)
	w.expectOneAttempt(id)
	if n := len(w.lines("journal")); n != 4 {
		t.Errorf("the journal has %d lines, want a start and a checkpoint of two jobs", n)
	}
	ended := w.allocation(a.ID)
	if ended.EndMS > ended.LimitMS {
		t.Errorf("the allocation was ended by Slurm: %+v", ended)
	}
}

// TestWalltimeIgnored: jobs that ignore the signal are killed before Slurm kills them,
// and are reported.
func TestWalltimeIgnored(t *testing.T) {
	t.Parallel()
	w := newWorld(t, slurmtest.UseReal(t))
	id := w.submit(long(2, 300, "ignore"))
	a := w.untilRunning(id, 2)
	w.eventually(patience, "the jobs are reported", func() bool {
		results, err := w.client.Jobs.Attempts(t.Context(), *w.jobs(id)[0].ID)
		return err == nil && len(results) > 0 && results[0].Cause == "walltime"
	})
	w.expectWhy(id, "job1", "walltime")
	w.eventually(time.Minute, "the allocation ends", func() bool { return w.allocation(a.ID).State == "ended" })
	w.run("cancel", "--no-prompts", text(id))
	w.settleAllocations(id)
}
