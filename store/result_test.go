package store

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/workflow"
)

func TestResultLife(t *testing.T) {
	n := newNouns(t)
	job, node := n.job(n.workflow), n.node(n.workflow)
	first := workflow.Result{
		WorkflowID: n.workflow, JobID: job, RunID: 1, AttemptID: 1, ComputeNodeID: node, ReturnCode: 3, ExecTimeMinutes: 0.5,
		CompletionTime: "2026-11-21T10:02:00+00:00", Status: workflow.Failed, PeakMemoryBytes: new(int64(1 << 20)),
	}
	created, err := n.CreateResult(n.ctx, first)
	n.must(err)
	if created.JobName != "j" {
		t.Errorf("job_name %q, want j", created.JobName)
	}
	again, err := n.CreateResult(n.ctx, first)
	n.must(err)
	if diff := cmp.Diff(created, again); diff != "" {
		t.Errorf("the same result once more (-want +got):\n%s", diff)
	}
	other := first
	other.ReturnCode = 4
	_, err = n.CreateResult(n.ctx, other)
	wantCode(t, err, workflow.CodeConflict)

	second := first
	second.AttemptID, second.Status, second.ReturnCode = 2, workflow.Completed, 0
	current, err := n.CreateResult(n.ctx, second)
	n.must(err)
	got, _, err := n.Results(n.ctx, ResultFilter{WorkflowID: n.workflow}, Page{Limit: 10})
	n.must(err)
	if diff := cmp.Diff([]workflow.Result{current}, got); diff != "" {
		t.Errorf("current results (-want +got):\n%s", diff)
	}
	got, _, err = n.Results(n.ctx, ResultFilter{WorkflowID: n.workflow, AllRuns: true, Status: new(workflow.Failed)}, Page{Limit: 10})
	n.must(err)
	if diff := cmp.Diff([]workflow.Result{created}, got); diff != "" {
		t.Errorf("failed results (-want +got):\n%s", diff)
	}

	current.ReturnCode = 9
	updated, err := n.UpdateResult(n.ctx, current)
	n.must(err)
	if diff := cmp.Diff(current, updated); diff != "" {
		t.Errorf("updated result (-want +got):\n%s", diff)
	}
	_, err = n.DeleteResult(n.ctx, current.ID)
	n.must(err)
	if got, total, err := n.Results(n.ctx, ResultFilter{WorkflowID: n.workflow}, Page{Limit: 10}); err != nil || total != 0 {
		t.Errorf("current results after the current one was deleted: %v, error %v", got, err)
	}
	deleted, err := n.DeleteResults(n.ctx, n.workflow)
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
		if _, err := n.CreateResult(n.ctx, bad); workflow.CodeOf(err) != workflow.CodeInvalid {
			t.Errorf("%s: error %v, want a refusal", name, err)
		}
	}
	created, err := n.CreateResult(n.ctx, good)
	n.must(err)
	for name, change := range map[string]func(*workflow.Result){
		"to another workflow": func(r *workflow.Result) { r.WorkflowID = n.other },
		"to another job":      func(r *workflow.Result) { r.JobID = n.job(n.workflow) },
	} {
		bad := created
		change(&bad)
		if _, err := n.UpdateResult(n.ctx, bad); workflow.CodeOf(err) != workflow.CodeInvalid {
			t.Errorf("%s: error %v, want a refusal", name, err)
		}
	}
}

func TestSlurmStatsSentAgainReplace(t *testing.T) {
	n := newNouns(t)
	stats := workflow.SlurmStats{WorkflowID: n.workflow, JobID: n.job(n.workflow), RunID: 1, AttemptID: 1, MaxRSSBytes: new(int64(10))}
	first, err := n.PutSlurmStats(n.ctx, stats)
	n.must(err)
	stats.MaxRSSBytes, stats.NodeList = new(int64(20)), new("n1")
	second, err := n.PutSlurmStats(n.ctx, stats)
	n.must(err)
	got, total, err := n.SlurmStats(n.ctx, SlurmStatsFilter{WorkflowID: n.workflow, JobID: &stats.JobID}, Page{Limit: 10})
	n.must(err)
	if diff := cmp.Diff([]workflow.SlurmStats{second}, got); diff != "" || total != 1 || first.ID != second.ID {
		t.Errorf("total %d, ids %d and %d (-want +got):\n%s", total, first.ID, second.ID, diff)
	}
	stats.JobID = n.job(n.other)
	_, err = n.PutSlurmStats(n.ctx, stats)
	wantCode(t, err, workflow.CodeInvalid)
}
