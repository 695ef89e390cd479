package store

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

func TestSlurmSchedulerLife(t *testing.T) {
	n := newNouns(t)
	created, err := n.SlurmSchedulers.Create(n.ctx, compute.SlurmScheduler{
		WorkflowID: n.workflow, Name: "small", Account: "p1", Nodes: 1, Walltime: "04:00:00", Gres: new("gpu:1"),
	})
	n.must(err)
	updated, err := n.SlurmSchedulers.Update(n.ctx, created.ID, SlurmSchedulerUpdate{WorkflowID: n.workflow, Partition: new("debug"), Nodes: new(int64(2))})
	n.must(err)
	want := created
	want.Partition, want.Nodes = new("debug"), 2
	if diff := cmp.Diff(want, updated); diff != "" {
		t.Errorf("updated (-want +got):\n%s", diff)
	}
	got, total, err := n.SlurmSchedulers.List(n.ctx, n.workflow, sqlite.Page{Limit: 10, SortBy: "walltime"})
	n.must(err)
	if diff := cmp.Diff([]compute.SlurmScheduler{want}, got); diff != "" || total != 1 {
		t.Errorf("total %d (-want +got):\n%s", total, diff)
	}
	_, err = n.SlurmSchedulers.Update(n.ctx, created.ID, SlurmSchedulerUpdate{WorkflowID: n.other})
	wantCode(t, err, workflow.CodeInvalid)

	job := n.job(n.workflow)
	n.insert(`INSERT INTO claim_class (workflow_id, priority, requirements_id, scheduler_id) VALUES (?, 1, 0, ?)`, n.workflow, created.ID)
	n.insert(`UPDATE job SET class_id = (SELECT id FROM claim_class WHERE priority = 1) WHERE id = ?`, job)
	_, err = n.SlurmSchedulers.Delete(n.ctx, created.ID)
	wantCode(t, err, workflow.CodeConflict)
	if deleted, err := n.SlurmSchedulers.DeleteAll(n.ctx, n.workflow); err != nil || deleted != 0 {
		t.Errorf("deleted %d schedulers in use, error %v", deleted, err)
	}
	n.insert(`DELETE FROM job WHERE id = ?`, job)
	_, err = n.SlurmSchedulers.Delete(n.ctx, created.ID)
	n.must(err)
}

func TestLocalSchedulerLife(t *testing.T) {
	n := newNouns(t)
	created, err := n.LocalSchedulers.Create(n.ctx, compute.LocalScheduler{WorkflowID: n.workflow, Memory: "4g", NumCPUs: 2})
	n.must(err)
	updated, err := n.LocalSchedulers.Update(n.ctx, created.ID, LocalSchedulerUpdate{WorkflowID: n.workflow, NumCPUs: new(int64(4))})
	n.must(err)
	if updated.Memory != "4g" || updated.NumCPUs != 4 {
		t.Errorf("updated to %+v", updated)
	}
	_, err = n.LocalSchedulers.Update(n.ctx, created.ID, LocalSchedulerUpdate{WorkflowID: n.other})
	wantCode(t, err, workflow.CodeInvalid)
	if _, err = n.LocalSchedulers.Delete(n.ctx, created.ID); err != nil {
		t.Error(err)
	}
	_, err = n.LocalSchedulers.Get(n.ctx, created.ID)
	wantCode(t, err, workflow.CodeNotFound)
}

func TestFailureHandlerLife(t *testing.T) {
	n := newNouns(t)
	_, err := n.FailureHandlers.Create(n.ctx, workflow.FailureHandler{WorkflowID: n.workflow, Name: "h", Rules: `{"exit_codes": [1]}`})
	wantCode(t, err, workflow.CodeInvalid)
	h, err := n.FailureHandlers.Create(n.ctx, workflow.FailureHandler{WorkflowID: n.workflow, Name: "h", Rules: `[{"exit_codes": [1]}]`})
	n.must(err)
	job := n.job(n.workflow)
	n.insert(`UPDATE job SET failure_handler_id = ? WHERE id = ?`, h.ID, job)
	got, _, err := n.FailureHandlers.List(n.ctx, n.workflow, sqlite.Page{Limit: 10})
	n.must(err)
	if diff := cmp.Diff([]workflow.FailureHandler{h}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	_, err = n.FailureHandlers.Delete(n.ctx, h.ID)
	n.must(err)
	if left := n.count(`SELECT COUNT(*) FROM job WHERE failure_handler_id IS NOT NULL`); left != 0 {
		t.Error("a job still names the deleted handler")
	}
}

func TestRemoteWorkers(t *testing.T) {
	n := newNouns(t)
	n.must(n.RemoteWorkers.Add(n.ctx, n.workflow, []string{"b", "me@a:22", "b"}))
	n.must(n.RemoteWorkers.Add(n.ctx, n.workflow, []string{"b"}))
	got, err := n.RemoteWorkers.List(n.ctx, n.workflow)
	n.must(err)
	want := []compute.RemoteWorker{{WorkflowID: n.workflow, Worker: "b"}, {WorkflowID: n.workflow, Worker: "me@a:22"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	n.must(n.RemoteWorkers.Delete(n.ctx, n.workflow, "b"))
	wantCode(t, n.RemoteWorkers.Delete(n.ctx, n.workflow, "b"), workflow.CodeNotFound)
	wantCode(t, n.RemoteWorkers.Add(n.ctx, 99, []string{"b"}), workflow.CodeNotFound)
}
