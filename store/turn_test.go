package store

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

func TestTurnRunsJobsToTheEnd(t *testing.T) {
	r := newRig(t, chainOf(3)...)
	h := r.hand("n1", 4)
	answer := h.turn()
	if len(answer.Grants) != 1 || answer.Grants[0].Name != "j0" || answer.Grants[0].Command != "true" || answer.OpenJobs != 3 {
		t.Fatalf("first answer: %+v", answer)
	}
	for i := range 2 {
		answer = h.turn(exited(h.held[0].LeaseRef, 0))
		if len(answer.Grants) != 1 || answer.Grants[0].JobID != r.ids[i+1] || answer.Results[0].Outcome != lease.Accepted {
			t.Fatalf("after job %d: %+v", i, answer)
		}
	}
	answer = h.turn(exited(h.held[0].LeaseRef, 0))
	if !answer.Complete || answer.OpenJobs != 0 || answer.ClaimableLater {
		t.Errorf("last answer: %+v", answer)
	}
	r.want(workflow.Completed, workflow.Completed, workflow.Completed)
	want := []string{"compute_node_started", "job_started", "job_completed", "job_started", "job_completed", "job_started", "job_completed", "workflow_completed"}
	if diff := cmp.Diff(want, r.events()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	last := r.changes[len(r.changes)-1]
	if diff := cmp.Diff([]int64{r.workflow}, last.Ended); diff != "" {
		t.Errorf("ended workflows (-want +got):\n%s", diff)
	}
	if n := r.number(`SELECT COUNT(*) FROM result r JOIN job j ON j.result_id = r.id WHERE r.exec_time_minutes * 60 BETWEEN 0.99 AND 1.01`); n != 3 {
		t.Errorf("%d current results, want 3", n)
	}
}

func TestFailureSkipsWhatIsBehind(t *testing.T) {
	r := newRig(t, rigJob{}, rigJob{after: []int{0}}, rigJob{after: []int{0}, runIf: workflow.RunIfAlways}, rigJob{after: []int{1}})
	h := r.hand("n1", 4)
	h.turn()
	answer := h.turn(exited(h.held[0].LeaseRef, 3))
	if res := answer.Results[0]; res.Status != workflow.Failed || res.ReturnCode != 3 || res.Cause != workflow.CauseExit {
		t.Errorf("result: %+v", res)
	}
	r.want(workflow.Failed, workflow.Canceled, workflow.Pending, workflow.Canceled)
	if n := r.number(`SELECT COUNT(*) FROM job WHERE skipped_by = ?`, r.ids[0]); n != 2 {
		t.Errorf("%d jobs are skipped by the first, want 2", n)
	}
	h.turn(exited(h.held[0].LeaseRef, 0))
	want := []string{"compute_node_started", "job_started", "job_failed", "jobs_skipped", "job_started", "job_completed", "workflow_failed"}
	if diff := cmp.Diff(want, r.events()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}
