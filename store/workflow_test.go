package store

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/action"
	"github.com/torc-slurm/torc-slurm/workflow/artifact"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

func (n *nouns) full() workflow.Workflow {
	n.t.Helper()
	w, err := n.Workflows.Create(n.ctx, workflow.Workflow{
		Name: "full", User: "me", Description: new("100% of it"), Project: new("p"), Metadata: json.RawMessage(`{"b": 1, "a": 2}`),
		Env: map[string]string{"A": "1"}, SubmissionDirectory: new("/home/me"), TorcWorkflow: workflow.TorcWorkflow{AccessGroups: []string{"z", "a"}},
		ComputeNodeWaitForNewJobsSeconds: 7, UsePendingFailed: new(true), EnforceRuntime: true,
		ExecutionConfig: &workflow.ExecutionConfig{Mode: "direct"}, DynamicJobs: &workflow.DynamicJobsConfig{MaxIterations: new(int64(5))},
		ResourceMonitor: &workflow.ResourceMonitorConfig{Enabled: true, Granularity: "summary"}, SlurmDefaults: json.RawMessage(`{"account":"x"}`),
	})
	n.must(err)
	return w
}

func TestWorkflowIsStoredAsGiven(t *testing.T) {
	n := newNouns(t)
	created := n.full()
	if diff := cmp.Diff([]string{"a", "z"}, created.AccessGroups); diff != "" || created.Timestamp != "2026-11-21T10:00:00.000Z" || created.RunID != 0 {
		t.Errorf("timestamp %s, run %d, groups (-want +got):\n%s", created.Timestamp, created.RunID, diff)
	}
	got, err := n.Workflows.Get(n.ctx, created.ID)
	n.must(err)
	if diff := cmp.Diff(created, got); diff != "" || string(got.Metadata) != `{"b": 1, "a": 2}` {
		t.Errorf("metadata %s (-want +got):\n%s", got.Metadata, diff)
	}
	def, _, err := n.Requirements.List(n.ctx, RequirementsFilter{WorkflowID: created.ID}, sqlite.Page{Limit: 10})
	n.must(err)
	want := workflow.ResourceRequirements{WorkflowID: created.ID, Name: "default", NumCPUs: 1, NumNodes: 1, Memory: "1m", Runtime: "P0DT1M"}
	if len(def) != 1 {
		t.Fatalf("requirements %+v, want the default ones", def)
	}
	want.ID = def[0].ID
	if diff := cmp.Diff(want, def[0]); diff != "" {
		t.Errorf("default requirements (-want +got):\n%s", diff)
	}
	for name, q := range map[string]WorkflowFilter{
		"name": {Name: new("full")}, "description": {Description: new("100% OF")}, "group": {AccessGroup: new("z")}, "user and state": {User: new("me"), IsArchived: new(false), Name: new("full")},
	} {
		if got, _, err := n.Workflows.List(n.ctx, q, sqlite.Page{Limit: 10}); err != nil || len(got) != 1 || got[0].ID != created.ID {
			t.Errorf("%s: %+v, error %v", name, got, err)
		}
	}
}

func TestWorkflowRefusals(t *testing.T) {
	n := newNouns(t)
	for name, w := range map[string]workflow.Workflow{
		"env name":   {Env: map[string]string{"A-B": "1"}},
		"iterations": {DynamicJobs: &workflow.DynamicJobsConfig{MaxIterations: new(int64(0))}},
		"groups":     {TorcWorkflow: workflow.TorcWorkflow{AccessGroups: []string{"a", "b", "a"}}},
	} {
		if _, err := n.Workflows.Create(n.ctx, w); workflow.CodeOf(err) != workflow.CodeInvalid {
			t.Errorf("%s: error %v, want a refusal", name, err)
		}
	}
}

func TestWorkflowUpdate(t *testing.T) {
	n := newNouns(t)
	w := n.full()
	same := workflow.WorkflowUpdate{
		Env: map[string]string{"A": "1"}, SubmissionDirectory: new("/home/me"), TorcWorkflow: workflow.TorcWorkflow{AccessGroups: []string{"a", "z"}},
		DynamicJobs: &workflow.DynamicJobsConfig{MaxIterations: new(int64(5))},
	}
	got, err := n.Workflows.Update(n.ctx, w.ID, same)
	n.must(err)
	if diff := cmp.Diff(w, got); diff != "" {
		t.Errorf("an update that changes nothing (-want +got):\n%s", diff)
	}
	for name, u := range map[string]workflow.WorkflowUpdate{
		"env":                  {Env: map[string]string{}},
		"submission_directory": {SubmissionDirectory: new("/")},
		"dynamic_jobs":         {DynamicJobs: &workflow.DynamicJobsConfig{}},
		"access_groups":        {TorcWorkflow: workflow.TorcWorkflow{AccessGroups: []string{"a"}}},
	} {
		if _, err := n.Workflows.Update(n.ctx, w.ID, u); workflow.CodeOf(err) != workflow.CodeInvalid {
			t.Errorf("%s: error %v, want a refusal", name, err)
		}
	}
	got, err = n.Workflows.Update(n.ctx, w.ID, workflow.WorkflowUpdate{Name: new("renamed"), UsePendingFailed: new(false)})
	n.must(err)
	stored, err := n.Workflows.Get(n.ctx, w.ID)
	n.must(err)
	if diff := cmp.Diff(got, stored); diff != "" || got.Name != "renamed" || *got.UsePendingFailed {
		t.Errorf("%+v (-want +got):\n%s", got, diff)
	}
	archived, err := n.Workflows.Archive(n.ctx, w.ID, true, "me")
	if err != nil || !archived.IsArchived {
		t.Errorf("archived %v, error %v", archived.IsArchived, err)
	}
}

func TestDeletedWorkflowLeavesNothing(t *testing.T) {
	n := newNouns(t)
	n.scene()
	file, err := n.Files.Create(n.ctx, []artifact.File{{WorkflowID: n.workflow, Name: "f", Path: "/f"}})
	n.must(err)
	n.insert(`INSERT INTO job_input_file (job_id, file_id) VALUES ((SELECT MIN(id) FROM job), ?)`, file[0].ID)
	n.action(func(*action.Record) {})
	other := n.job(n.other)
	_, err = n.Workflows.Delete(n.ctx, n.workflow, false)
	n.must(err)
	_, err = n.Workflows.Get(n.ctx, n.workflow)
	wantCode(t, err, workflow.CodeNotFound)
	_, err = n.Workflows.Delete(n.ctx, n.workflow, false)
	wantCode(t, err, workflow.CodeNotFound)
	for _, table := range []string{"resource_requirements", "compute_node", "gate", "gate_dependency", "job_input_file", "attempt",
		"event", "file", "workflow_action"} {
		if left := n.count(`SELECT COUNT(*) FROM ` + table); left != 0 {
			t.Errorf("%d rows are left in %s", left, table)
		}
	}
	if left := n.count(`SELECT COUNT(*) FROM job WHERE id != ?`, other); left != 0 {
		t.Errorf("%d jobs are left", left)
	}
}

func TestHiddenWorkflowsGoAtTheStart(t *testing.T) {
	n := newNouns(t)
	w := n.full()
	n.insert(`UPDATE workflow SET is_hidden = 1 WHERE id = ?`, w.ID)
	n.must(n.Workflows.DeleteLeftovers(n.ctx))
	if left := n.count(`SELECT COUNT(*) FROM workflow WHERE id = ?`, w.ID); left != 0 {
		t.Error("the hidden workflow is still there")
	}
}

// An active workflow is deleted only if the caller does not ask for an idle one.
func TestDeleteIfIdle(t *testing.T) {
	r := newRig(t, independent(2)...)
	r.intend("aa")
	pending := r.adopt("aa", 17, 0)
	h := r.hand("n1", 1)
	h.begins()
	refused := func(want string) {
		t.Helper()
		_, err := r.Workflows.Delete(r.ctx, r.workflow, true)
		wantCode(t, err, workflow.CodeConflict)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("refused with %v, want %q", err, want)
		}
	}
	refused("1 job is claimed or running, 1 allocation is pending or active")
	_, err := r.Workflows.Cancel(r.ctx, r.workflow)
	r.must(err)
	refused("1 allocation is pending or active, 1 runner has not left")
	r.must(r.Allocations.End(r.ctx, pending.ID, compute.AllocationEnd{Cause: compute.AllocationCanceled, Text: "canceled"}))
	refused("1 runner has not left")
	h.turn()
	_, err = r.Runners.Leave(r.ctx, h.id, lease.LeaveRequest{})
	r.must(err)
	_, err = r.Workflows.Delete(r.ctx, r.workflow, true)
	r.must(err)
}
