package faults

import (
	"strings"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm/slurmtest"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// hog is a job that needs more memory than its allocation has, beside one that does not.
const hog = `compute_node_wait_for_new_jobs_seconds: 0
resource_requirements: [{name: small, num_cpus: 1, memory: 100m, runtime: PT30S}]
jobs:
  - {name: good, command: ./job.sh 5, resource_requirements: small}
  - {name: hog, command: ./job.sh 5 hog, resource_requirements: small}
slurm_schedulers: [{name: s, account: research, partition: debug, mem: 400M, nodes: 1, walltime: "00:10:00", extra: "--cpus-per-task=2"}]
actions: [{trigger_type: auto_schedule_on_ready_jobs, scheduler: s, max_ready_age: PT1S, max_submit_per_minute: 30}]
`

func TestOutOfMemoryDirect(t *testing.T) { outOfMemory(t, "direct") }

func TestOutOfMemorySteps(t *testing.T) { outOfMemory(t, "slurm") }

// memoryLimited returns the real cluster if it can limit the memory of jobs.
func memoryLimited(t *testing.T) *slurmtest.Real {
	t.Helper()
	real := slurmtest.UseReal(t)
	if !real.CanLimitMemory() {
		t.Skip("there is no cgroup controller for memory here")
	}
	return real
}

func outOfMemory(t *testing.T, mode string) {
	t.Helper()
	t.Parallel()
	w := newWorld(t, memoryLimited(t))
	id := w.submit("execution_config: {mode: " + mode + "}\n" + hog)
	w.settle(id, map[string]string{"hog": "failed"})
	w.expectWhy(id, "hog", "oom")
	w.expectNoDoubt(id)
}

// TestHiddenOutOfMemory: the kernel kills a child of a job whose shell exits with 0
// nevertheless, while another job runs beside it.
func TestHiddenOutOfMemory(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memoryLimited(t))
	hidden := strings.NewReplacer("./job.sh 5 hog", "./job.sh 5 hog || true", "100m", "150m").Replace(hog)
	id := w.submit("execution_config: {mode: direct, limit_resources: false}\n" + hidden)
	w.settle(id, map[string]string{"hog": "failed"})
	w.expectWhy(id, "hog", "oom_partial", "exit code 0, 1 cgroup kill of tail (pid ")
	w.expectWhy(id, "good", "despite 1 cgroup OOM kill meanwhile, of hog")
	w.expectNoDoubt(id)
}

// expectNoDoubt checks that it is known whose processes the kernel killed.
func (w *world) expectNoDoubt(id int64) {
	w.t.Helper()
	if n := len(w.events(id, workflow.EventOOMDoubtful)); n != 0 {
		w.t.Errorf("%d events say that it is unclear whose process was killed", n)
	}
}

// TestSuspended: an allocation that is suspended for a while loses nothing.
func TestSuspended(t *testing.T) {
	t.Parallel()
	w := newWorld(t, slurmtest.UseReal(t))
	id := w.submit(shape("debug", "n4", 10*time.Minute) + sweep(2, 20, ""))
	a := w.untilRunning(id, 2)
	w.admin("suspend", text(a.SlurmJobID))
	suspended := time.Now()
	w.eventually(2*time.Minute, "it is suspended for longer than a lease", func() bool {
		return time.Since(suspended) > 30*time.Second
	})
	w.admin("resume", text(a.SlurmJobID))
	w.settle(id, nil)
	w.expectOneAttempt(id)
}
