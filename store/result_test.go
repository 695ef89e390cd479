package store

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

func TestResultLife(t *testing.T) {
	n := newNouns(t)
	job, node := n.job(n.workflow), n.node(n.workflow)
	first := workflow.Result{
		WorkflowID: n.workflow, JobID: job, RunID: 1, AttemptID: 1, ComputeNodeID: node, ReturnCode: 3, ExecTimeMinutes: 0.5,
		CompletionTime: "2026-11-21T10:02:00+00:00", Status: workflow.Failed, PeakMemoryBytes: new(int64(1 << 20)),
	}
	created, err := n.Results.Create(n.ctx, first)
	n.must(err)
	if created.JobName != "j" {
		t.Errorf("job_name %q, want j", created.JobName)
	}
	again, err := n.Results.Create(n.ctx, first)
	n.must(err)
	if diff := cmp.Diff(created, again); diff != "" {
		t.Errorf("the same result once more (-want +got):\n%s", diff)
	}
	other := first
	other.ReturnCode = 4
	_, err = n.Results.Create(n.ctx, other)
	wantCode(t, err, workflow.CodeConflict)

	second := first
	second.AttemptID, second.Status, second.ReturnCode = 2, workflow.Completed, 0
	current, err := n.Results.Create(n.ctx, second)
	n.must(err)
	got, _, err := n.Results.List(n.ctx, ResultFilter{WorkflowID: n.workflow}, sqlite.Page{Limit: 10})
	n.must(err)
	if diff := cmp.Diff([]workflow.Result{current}, got); diff != "" {
		t.Errorf("current results (-want +got):\n%s", diff)
	}
	got, _, err = n.Results.List(n.ctx, ResultFilter{WorkflowID: n.workflow, AllRuns: true, Status: new(workflow.Failed)}, sqlite.Page{Limit: 10})
	n.must(err)
	if diff := cmp.Diff([]workflow.Result{created}, got); diff != "" {
		t.Errorf("failed results (-want +got):\n%s", diff)
	}

	current.ReturnCode = 9
	updated, err := n.Results.Update(n.ctx, current)
	n.must(err)
	if diff := cmp.Diff(current, updated); diff != "" {
		t.Errorf("updated result (-want +got):\n%s", diff)
	}
	_, err = n.Results.Delete(n.ctx, current.ID)
	n.must(err)
	if got, total, err := n.Results.List(n.ctx, ResultFilter{WorkflowID: n.workflow}, sqlite.Page{Limit: 10}); err != nil || total != 0 {
		t.Errorf("current results after the current one was deleted: %v, error %v", got, err)
	}
	deleted, err := n.Results.DeleteAll(n.ctx, n.workflow)
	if err != nil || deleted != 1 {
		t.Errorf("deleted %d, error %v; want 1", deleted, err)
	}
}

func TestResultStaysInItsWorkflow(t *testing.T) {
	n := newNouns(t)
	job, node := n.job(n.workflow), n.node(n.workflow)
	good := workflow.Result{WorkflowID: n.workflow, JobID: job, RunID: 1, AttemptID: 1, ComputeNodeID: node, CompletionTime: "t", Status: workflow.Completed}
	for name, change := range map[string]func(*workflow.Result){
		"job of another workflow":  func(r *workflow.Result) { r.JobID = n.job(n.other) },
		"node of another workflow": func(r *workflow.Result) { r.ComputeNodeID = n.node(n.other) },
		"no such node":             func(r *workflow.Result) { r.ComputeNodeID = 99 },
		"another workflow":         func(r *workflow.Result) { r.WorkflowID = n.other },
	} {
		bad := good
		change(&bad)
		if _, err := n.Results.Create(n.ctx, bad); workflow.CodeOf(err) != workflow.CodeInvalid {
			t.Errorf("%s: error %v, want a refusal", name, err)
		}
	}
	created, err := n.Results.Create(n.ctx, good)
	n.must(err)
	for name, change := range map[string]func(*workflow.Result){
		"to another workflow": func(r *workflow.Result) { r.WorkflowID = n.other },
		"to another job":      func(r *workflow.Result) { r.JobID = n.job(n.workflow) },
	} {
		bad := created
		change(&bad)
		if _, err := n.Results.Update(n.ctx, bad); workflow.CodeOf(err) != workflow.CodeInvalid {
			t.Errorf("%s: error %v, want a refusal", name, err)
		}
	}
}

func TestSlurmStatsSentAgainReplace(t *testing.T) {
	n := newNouns(t)
	stats := compute.SlurmStats{WorkflowID: n.workflow, JobID: n.job(n.workflow), RunID: 1, AttemptID: 1, MaxRSSBytes: new(int64(10))}
	first, err := n.SlurmStats.Put(n.ctx, stats)
	n.must(err)
	stats.MaxRSSBytes, stats.NodeList = new(int64(20)), new("n1")
	second, err := n.SlurmStats.Put(n.ctx, stats)
	n.must(err)
	got, total, err := n.SlurmStats.List(n.ctx, SlurmStatsFilter{WorkflowID: n.workflow, JobID: &stats.JobID}, sqlite.Page{Limit: 10})
	n.must(err)
	if diff := cmp.Diff([]compute.SlurmStats{second}, got); diff != "" || total != 1 || first.ID != second.ID {
		t.Errorf("total %d, ids %d and %d (-want +got):\n%s", total, first.ID, second.ID, diff)
	}
	stats.JobID = n.job(n.other)
	_, err = n.SlurmStats.Put(n.ctx, stats)
	wantCode(t, err, workflow.CodeInvalid)
}
