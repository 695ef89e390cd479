package store

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/store/check"
	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
)

// newUndone is a rig with a failed run that is undone as soon as the second of its
// runners confirms that nothing of it is left.
func newUndone(t *testing.T) (r *rig, other *hand) {
	t.Helper()
	r = newRig(t, chainOf(2)...)
	r.compensate(`{}`, 0)
	other = r.hand("n2", 1)
	other.free.Slots = 0
	other.turn()
	r.hand("n1", 1).runs(1)
	if got := r.compensation(); got != "waiting" {
		t.Fatalf("compensation: %s", got)
	}
	return r, other
}

// While a run is undone no job is deleted: the compensation would never end.
func TestNothingIsDeletedWhileARunIsUndone(t *testing.T) {
	r, other := newUndone(t)
	for range 2 { // waiting, and running
		for _, id := range r.ids {
			_, err := r.Jobs.Delete(r.ctx, id, "me")
			wantCode(t, err, workflow.CodeConflict)
		}
		_, err := r.Jobs.DeleteAll(r.ctx, r.workflow, "me")
		wantCode(t, err, workflow.CodeConflict)
		other.turn()
	}
	other.free.Slots = 1
	other.runs()
	if got := r.compensation(); got != "completed" {
		t.Errorf("compensation: %s", got)
	}
	_, err := r.Jobs.DeleteAll(r.ctx, r.workflow, "me")
	r.must(err)
	r.sound(check.Witness{})
}

// The jobs of a compensation cannot be completed before it runs: it would not notice.
func TestACompensationThatWaitsIsNotCompleted(t *testing.T) {
	r, other := newUndone(t)
	node := r.node("n3")
	_, err := r.Jobs.Complete(r.ctx, r.completion(2, node, workflow.Completed, 0))
	wantCode(t, err, workflow.CodeConflict)
	other.turn()
	for i := range 2 {
		_, err := r.Jobs.Complete(r.ctx, r.completion(2+i, node, workflow.Completed, 0))
		r.must(err)
	}
	if got := r.compensation(); got != "completed" {
		t.Errorf("compensation: %s", got)
	}
}

// The verdict of a canceled run is final while it is undone.
func TestJobsOfACanceledRunDoNotEndWhileItIsUndone(t *testing.T) {
	r, _ := newHeldRig(t, independent(2))
	r.add(independent(1)...)
	r.compensate(`{"on_failure": {"when": ["canceled"]}}`, 0)
	_, err := r.Workflows.Cancel(r.ctx, r.workflow)
	r.must(err)
	if got := r.compensation(); got != "running" && got != "waiting" {
		t.Fatalf("compensation: %q", got)
	}
	w := hold.Classification{Status: workflow.Failed, Author: "me", Reason: "so"}
	outcomes, err := r.Holds.Resolve(r.ctx, r.workflow, HoldSelection{}, w, ResolveOptions{})
	r.must(err)
	for _, o := range outcomes {
		if o.Resolved || o.Error == "" {
			t.Errorf("outcome: %+v", o)
		}
	}
	_, err = r.Jobs.Complete(r.ctx, r.completion(2, r.node("n3"), workflow.Completed, 0))
	wantCode(t, err, workflow.CodeConflict)
	if diff := cmp.Diff([]workflow.JobStatus{workflow.PendingFailed, workflow.PendingFailed, workflow.Ready}, r.statuses()[:3]); diff != "" {
		t.Errorf("statuses (-want +got):\n%s", diff)
	}
	r.sound(check.Witness{})
}

// The jobs of a compensation that has ended stay disabled when the run is initialized
// again.
func TestInitializeLeavesACompensationAlone(t *testing.T) {
	r := newRig(t, chainOf(2)...)
	r.compensate(`{}`, 0)
	h := r.hand("n1", 1)
	h.runs(1, 2, 3)
	r.do(func(tx *core.Tx) error { // as if its time had been over
		n, err := tx.Exec(`UPDATE job SET status = {terminated} WHERE workflow_id = ?1 AND `+view.InCompensation+` AND status = {failed}`, r.workflow)
		tx.Move(r.workflow, workflow.Failed, workflow.Terminated, n)
		return err
	})
	want := []workflow.JobStatus{workflow.Completed, workflow.Failed, workflow.Terminated, workflow.Terminated}
	r.want(want...)
	r.must(r.Workflows.Initialize(r.ctx, r.workflow, InitializeOptions{User: "me"}))
	r.want(want...)
}

// A changed command of an undo does not start it.
func TestChangedInputsLeaveACompensationAlone(t *testing.T) {
	r := newRig(t, chainOf(2)...)
	r.compensate(`{}`, 0)
	r.must(r.Workflows.Initialize(r.ctx, r.workflow, InitializeOptions{User: "me"}))
	r.hand("n1", 1).runs(1)
	want := []workflow.JobStatus{workflow.Completed, workflow.Failed, workflow.Completed, workflow.Completed}
	r.want(want...)
	r.do(func(tx *core.Tx) error {
		return tx.ExecOne(`UPDATE job SET command = 'false' WHERE id = ?`, r.ids[2])
	})
	names, err := r.Workflows.ProcessChangedInputs(r.ctx, r.workflow, false, "me")
	r.must(err)
	if len(names) > 0 {
		t.Errorf("begin anew: %v", names)
	}
	r.want(want...)
}
