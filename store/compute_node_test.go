package store

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

func TestComputeNodeLife(t *testing.T) {
	n := newNouns(t)
	created, err := n.ComputeNodes.Create(n.ctx, compute.Node{
		WorkflowID: n.workflow, Hostname: "Node-7", PID: 99, StartTime: "2026-11-21T10:01:00+00:00", EndTime: new("2026-11-21T14:01:00+00:00"),
		IsActive: true, NumCPUs: 8, MemoryGB: 16, NumGPUs: 1, NumNodes: 1, Type: compute.SchedulerSlurm, Labels: []string{"gpu", "big", "gpu"},
		Scheduler: json.RawMessage(`{"scheduler_id":3,"type":"slurm","slurm_job_id":1000}`),
	})
	n.must(err)
	if diff := cmp.Diff([]string{"big", "gpu"}, created.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	for name, q := range map[string]ComputeNodeFilter{
		"hostname":  {Hostname: new("node-")},
		"active":    {IsActive: new(true)},
		"scheduled": {ScheduledComputeNodeID: new(int64(3))},
	} {
		q.WorkflowID = n.workflow
		got, _, err := n.ComputeNodes.List(n.ctx, q, sqlite.Page{Limit: 10})
		n.must(err)
		if diff := cmp.Diff([]compute.Node{created}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for range 2 { // the second changes nothing, so nothing is told
		_, err := n.ComputeNodes.Update(n.ctx, created.ID, n.workflow, compute.NodeUpdate{IsActive: new(false), DurationSeconds: new(60.0)})
		n.must(err)
	}
	var types []workflow.EventType
	events, err := n.Events.After(n.ctx, n.workflow, 0, 10)
	n.must(err)
	for _, e := range events {
		types = append(types, e.Type)
	}
	if diff := cmp.Diff([]workflow.EventType{workflow.EventComputeNodeStarted, workflow.EventComputeNodeStopped}, types); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	want := created
	want.IsActive, want.DurationSeconds = false, new(60.0)
	got, err := n.ComputeNodes.Get(n.ctx, created.ID)
	n.must(err)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("after the update (-want +got):\n%s", diff)
	}
	_, err = n.ComputeNodes.Update(n.ctx, created.ID, n.other, compute.NodeUpdate{})
	wantCode(t, err, workflow.CodeInvalid)
}

func TestComputeNodeWithJobsStays(t *testing.T) {
	n := newNouns(t)
	node := n.node(n.workflow)
	job := n.addJob(n.workflow, 0, workflow.Running)
	n.insert(`UPDATE job SET compute_node_id = ? WHERE id = ?`, node, job)
	_, err := n.ComputeNodes.Delete(n.ctx, node)
	wantCode(t, err, workflow.CodeConflict)
	_, err = n.ComputeNodes.DeleteAll(n.ctx, n.workflow)
	wantCode(t, err, workflow.CodeConflict)

	n.insert(`UPDATE job SET status = 5 WHERE id = ?`, job)
	_, err = n.Results.Create(n.ctx, workflow.Result{WorkflowID: n.workflow, JobID: job, RunID: 1, AttemptID: 1, ComputeNodeID: node, CompletionTime: "t", Status: workflow.Completed})
	n.must(err)
	deleted, err := n.ComputeNodes.DeleteAll(n.ctx, n.workflow)
	if err != nil || deleted != 1 {
		t.Errorf("deleted %d, error %v; want 1", deleted, err)
	}
	if left := n.count(`SELECT COUNT(*) FROM result`) + n.count(`SELECT COUNT(*) FROM job WHERE result_id IS NOT NULL OR compute_node_id IS NOT NULL`); left != 0 {
		t.Errorf("%d results or references to the deleted node are left", left)
	}
}

func TestComputeNodeRefusesBadLabels(t *testing.T) {
	n := newNouns(t)
	_, err := n.ComputeNodes.Create(n.ctx, compute.Node{WorkflowID: n.workflow, Labels: []string{"a,b"}})
	wantCode(t, err, workflow.CodeInvalid)
}

func TestScheduledComputeNodeLife(t *testing.T) {
	n := newNouns(t)
	created, err := n.ScheduledComputeNodes.Create(n.ctx, compute.ScheduledNode{
		WorkflowID: n.workflow, SchedulerID: 1000, SchedulerConfigID: 5, SchedulerType: "slurm", Status: "pending",
	})
	n.must(err)
	created.Status = "active"
	_, err = n.ScheduledComputeNodes.Update(n.ctx, created)
	n.must(err)
	got, _, err := n.ScheduledComputeNodes.List(n.ctx, ScheduledFilter{WorkflowID: n.workflow, SchedulerID: new(int64(1000)), Status: new("active")}, sqlite.Page{Limit: 10})
	n.must(err)
	if diff := cmp.Diff([]compute.ScheduledNode{created}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	moved := created
	moved.WorkflowID = n.other
	_, err = n.ScheduledComputeNodes.Update(n.ctx, moved)
	wantCode(t, err, workflow.CodeInvalid)
	_, err = n.ScheduledComputeNodes.Delete(n.ctx, created.ID)
	n.must(err)
	deleted, err := n.ScheduledComputeNodes.DeleteAll(n.ctx, n.workflow)
	if err != nil || deleted != 0 {
		t.Errorf("deleted %d, error %v; want none", deleted, err)
	}
}
