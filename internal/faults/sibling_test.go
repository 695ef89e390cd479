package faults

import (
	"slices"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/slurm/slurmtest"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// TestSiblingsDirect and TestSiblingsSteps: a job fails, and those that run beside it, in
// two allocations, are ended; one of them ignores the signal. What remains fits one
// allocation, and the other is released at once.
func TestSiblingsDirect(t *testing.T) {
	t.Parallel()
	newWorld(t, slurmtest.UseReal(t)).siblings("{mode: direct, sigterm_lead_seconds: 3}")
}

func TestSiblingsSteps(t *testing.T) {
	t.Parallel()
	newWorld(t, slurmtest.UseReal(t)).siblings("{mode: slurm}")
}

func (w *world) siblings(how string) {
	t := w.t
	id := w.submit("execution_config: " + how + "\n" + shape("debug", "", 10*time.Minute) + requirements + `
compute_node_wait_for_new_jobs_seconds: 0
cancel_siblings_on: [{label: critical}, {cause: exit}]
jobs:
  - {name: bad, command: '` + failWhenTold + `', resource_requirements: small}
  - {name: polite, command: ./job.sh 300, resource_requirements: small}
  - {name: rude, command: ./job.sh 300 ignore, resource_requirements: small}
  - {name: other, command: ./job.sh 300, resource_requirements: small}
  - {name: behind, command: ./job.sh 1, depends_on: [polite], resource_requirements: small}
  - {name: rest, command: ./job.sh 42, depends_on: [bad], run_if: always, resource_requirements: small}
actions: [{trigger_type: on_workflow_start, action_type: schedule_nodes, scheduler: s, scheduler_type: slurm, num_allocations: 2}]
`)
	w.untilRunning(id, 3) // and one that reports nothing
	w.write("fail", "", 0o644)
	w.settleFailed(id)
	want := map[string]string{"bad": "failed", "polite": "canceled", "rude": "canceled", "other": "canceled", "behind": "canceled"}
	for _, j := range w.allJobs(id) {
		if status, ok := want[j.Name]; ok && j.Status.String() != status || !ok && j.Status.String() != "completed" {
			t.Errorf("job %s is %s\n%s", j.Name, j.Status, w.why(*j.ID))
		}
		if n := len(w.attempts(id, j.Name)); n > 1 || n == 0 && j.Name != "behind" {
			t.Errorf("job %s had %d attempts\n%s", j.Name, n, w.why(*j.ID))
		}
	}
	if n := len(w.events(id, workflow.EventSiblingsCanceled)); n != 1 {
		t.Errorf("there are %d events of siblings that were canceled", n)
	}
	w.expectSubmissions(2)
	last := w.slurmJobOf("rest")
	for _, a := range w.allocations(id) {
		if rest := w.attempts(id, "rest")[0]; a.SlurmJobID != last && a.EndMS > *rest.EndedMS-5000 {
			t.Errorf("allocation %d, which was no longer needed, ended %d ms before the last job", a.ID, *rest.EndedMS-a.EndMS)
		}
	}
}

// settleFailed waits until the run of a workflow has ended, and checks what
// settleAllocations does.
func (w *world) settleFailed(id int64) {
	w.t.Helper()
	w.eventually(patience, "the run ends", func() bool {
		return len(w.events(id, workflow.EventWorkflowFailed)) == 1 && !slices.ContainsFunc(w.jobs(id), func(j api.Job) bool { return j.Status.IsLive() })
	})
	w.t.Logf("the run had ended after %v", time.Since(w.began).Round(time.Second))
	w.settleAllocations(id)
}
