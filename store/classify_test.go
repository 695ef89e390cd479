package store

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/store/check"
	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
)

// TestClassifyJob: an update of the status of a held job is a classification.
func TestClassifyJob(t *testing.T) {
	r := newRig(t, chainOf(2)...)
	r.do(func(tx *core.Tx) error {
		return tx.ExecOne(`UPDATE workflow SET use_pending_failed = 1 WHERE id = ?`, r.workflow)
	})
	classify := func(to workflow.JobStatus) (workflow.Job, error) {
		return r.Jobs.Update(r.ctx, r.ids[0], workflow.JobUpdate{Status: &to, Author: "me"})
	}
	_, err := classify(workflow.Failed)
	wantCode(t, err, workflow.CodeInvalid) // it is not held
	h := r.hand("n1", 1)
	for range workflow.ClassifiedRetryLimit {
		h.turn()
		h.turn(exited(h.held[0].LeaseRef, 7))
		j, err := classify(workflow.Ready)
		r.must(err)
		if j.Status != workflow.Ready || j.Hold != nil {
			t.Errorf("classified: %+v", j)
		}
	}
	h.turn()
	h.turn(exited(h.held[0].LeaseRef, 7))
	_, err = classify(workflow.Ready)
	wantCode(t, err, workflow.CodeConflict)
	r.want(workflow.PendingFailed, workflow.Blocked)
	_, err = classify(workflow.Failed)
	r.must(err)
	r.want(workflow.Failed, workflow.Canceled)
	events := r.events()
	want := []string{"job_pending_failed", "job_classified", "job_failed", "jobs_skipped", "workflow_failed"}
	if diff := cmp.Diff(want, events[len(events)-5:]); diff != "" {
		t.Errorf("last events (-want +got):\n%s", diff)
	}
}

// TestClassifiedBeforeItRan: a job that an operator held before any attempt, and then
// classified as failed, has no attempt.
func TestClassifiedBeforeItRan(t *testing.T) {
	r := newRig(t, chainOf(2)...)
	_, err := r.Jobs.ManageStatusChange(r.ctx, r.ids[0], workflow.PendingFailed, 1)
	r.must(err)
	_, err = r.Holds.Resolve(r.ctx, r.workflow, HoldSelection{}, hold.Classification{Status: workflow.Failed, Author: "me", Reason: "no use"}, ResolveOptions{})
	r.must(err)
	r.want(workflow.Failed, workflow.Canceled)
	r.sound(check.Witness{})
}
