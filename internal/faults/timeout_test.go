package faults

import (
	"strings"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/slurm/slurmtest"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// auto requests allocations of the scheduler s.
const auto = "actions: [{trigger_type: auto_schedule_on_ready_jobs, scheduler: s, max_ready_age: PT1S, max_submit_per_minute: 30}]\n"

// held has Slurm hold the allocations until an administrator releases them.
const held = `slurm_schedulers: [{name: s, account: research, partition: debug, mem: 300M, nodes: 1, walltime: "00:10:00", extra: --hold}]
`

// TestQueueTimeoutSaysWhy: the jobs of several workflows are not claimed, each for a
// different reason. The alerts say which.
func TestQueueTimeoutSaysWhy(t *testing.T) {
	t.Parallel()
	const job = `
compute_node_wait_for_new_jobs_seconds: 0
jobs: [{name: job, command: ./job.sh 1, resource_requirements: small, timeouts: {queue: {after: PT6S}}}]
`
	small := "resource_requirements: [{name: small, num_cpus: 1, memory: 100m, runtime: PT30S}]\n"
	t.Run("Pending", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, slurmtest.UseReal(t))
		id := w.submit(held + small + job + auto)
		w.expectAlert(id, "An allocation was requested, and Slurm has not started it.", "JobHeldUser")
		w.admin("release", text(w.allocations(id)[0].SlurmJobID))
		w.settle(id, nil)
	})
	t.Run("Refused", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, slurmtest.UseReal(t))
		id := w.submitWithoutAllocation(strings.NewReplacer("research", "nobodys", "--hold", "").Replace(held) + small + strings.ReplaceAll(job, "PT6S", "PT6S, policy: fail") + auto)
		w.eventually(patience, "the run ends", func() bool { return len(w.events(id, workflow.EventWorkflowFailed)) > 0 })
		w.expectStatuses(id, map[string]string{"job": "terminated"})
		w.expectWhy(id, "job", "timeouts.queue")
		w.checkGone()
	})
	t.Run("FitsNowhere", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, slurmtest.UseReal(t))
		id := w.submitWithoutAllocation(strings.ReplaceAll(small, "100m", "100g") + job)
		w.expectAlert(id, "o allocation was requested", "largest node has")
		w.run("cancel", "--no-prompts", text(id))
		w.checkGone()
	})
}

// submitWithoutAllocation creates a workflow that gets no allocation, and checks that submit says
// so.
func (w *world) submitWithoutAllocation(spec string) int64 {
	w.t.Helper()
	w.write("spec.yaml", "name: "+w.name()+"\n"+spec, 0o644)
	if out, err := w.command("submit", "--skip-checks", "-o", w.path("out"), "spec.yaml").CombinedOutput(); err == nil {
		w.t.Errorf("submit does not say that there is no allocation: %s", out)
	}
	return 1
}

// alerts returns the texts of the alerts of a workflow.
func (w *world) alerts(id int64) string {
	var b strings.Builder
	for _, a := range collect(w.client.Alerts.List(w.t.Context(), id, client.Page{})) {
		b.WriteString(a.Subject + "\n" + a.Text + "\n")
	}
	return b.String()
}

// expectAlert waits until there is an alert, and checks its text.
func (w *world) expectAlert(id int64, parts ...string) {
	w.t.Helper()
	w.eventually(time.Minute, "there is an alert", func() bool { return w.alerts(id) != "" })
	said := w.alerts(id)
	for _, part := range parts {
		if !strings.Contains(said, part) {
			w.t.Errorf("no alert says %q:\n%s", part, said)
		}
	}
}

// TestTotalTimeout: the total time of jobs is over. One runs, and is ended with its grace
// time; one waits for an allocation, which is released.
func TestTotalTimeout(t *testing.T) {
	t.Parallel()
	w := newWorld(t, slurmtest.UseReal(t))
	id := w.submit(twoAllocations + `
jobs:
  - {name: running, command: ./job.sh 300, scheduler: s, resource_requirements: small, timeouts: {total: {after: PT12S}}}
  - {name: waiting, command: ./job.sh 1, scheduler: h, resource_requirements: wider, timeouts: {total: {after: PT12S}}}
`)
	w.untilRunning(id, 1)
	w.settleFailed(id)
	w.expectStatuses(id, map[string]string{"running": "terminated", "waiting": "terminated"})
	w.expectWhy(id, "running", "timeouts.total")
	w.expectWhy(id, "waiting", "timeouts.total")
	w.expectSubmissions(2)
}

// twoAllocations has an allocation of two CPUs that runs and one of three that Slurm holds.
const twoAllocations = requirements + `
compute_node_wait_for_new_jobs_seconds: 0
slurm_schedulers:
  - {name: s, account: research, partition: debug, mem: 300M, nodes: 1, walltime: "00:10:00", extra: --cpus-per-task=2}
  - {name: h, account: research, partition: debug, mem: 300M, nodes: 1, walltime: "00:10:00", extra: --hold --cpus-per-task=3}
actions:
  - {trigger_type: auto_schedule_on_ready_jobs, max_ready_age: PT1S, max_submit_per_minute: 30}
`

// TestDeadline: the time of a run is over. With fail it is aborted; with stop_new running
// jobs continue. The waiting allocation is released.
func TestDeadline(t *testing.T) {
	t.Parallel()
	for policy, status := range map[string]string{"fail": "canceled", "stop_new": "completed"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, slurmtest.UseReal(t))
			id := w.submit("deadline: {after: PT12S, policy: " + policy + "}\n" + twoAllocations + `
jobs:
  - {name: running, command: ./job.sh 30, scheduler: s, resource_requirements: small}
  - {name: waiting, command: ./job.sh 1, scheduler: h, resource_requirements: wider}
  - {name: behind, command: ./job.sh 1, depends_on: [waiting], resource_requirements: small}
`)
			w.untilRunning(id, 1)
			w.settleFailed(id)
			w.expectStatuses(id, map[string]string{"running": status, "waiting": "canceled", "behind": "canceled"})
			w.expectAlert(id, "deadline")
			w.expectSubmissions(2)
		})
	}
}

func (w *world) expectStatuses(id int64, want map[string]string) {
	w.t.Helper()
	for _, j := range w.allJobs(id) {
		if j.Status.String() != want[j.Name] {
			w.t.Errorf("job %s is %s, want %s\n%s", j.Name, j.Status, want[j.Name], w.why(*j.ID))
		}
	}
}
