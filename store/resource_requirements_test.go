package store

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func (n *nouns) requirements(name string) workflow.ResourceRequirements {
	n.t.Helper()
	q, err := n.Requirements.Create(n.ctx, workflow.ResourceRequirements{
		WorkflowID: n.workflow, Name: name, NumCPUs: 2, NumNodes: 1, Memory: "4g", Runtime: "PT30M",
	})
	n.must(err)
	return q
}

func (n *nouns) defaultRequirements() int64 {
	n.t.Helper()
	return n.insert(`INSERT INTO resource_requirements (workflow_id, name, num_cpus, num_gpus, num_nodes, memory, runtime, memory_bytes, runtime_s)
		VALUES (?, 'default', 1, 0, 1, '1m', 'P0DT1M', 1048576, 60)`, n.workflow)
}

func TestRequirementsLife(t *testing.T) {
	n := newNouns(t)
	q := n.requirements("big")
	job := n.addJob(n.workflow, q.ID, workflow.Ready)
	for name, f := range map[string]RequirementsFilter{
		"of the job": {WorkflowID: n.workflow, JobID: &job},
		"runtime":    {WorkflowID: n.workflow, RuntimeSeconds: new(int64(1800))},
		"cpus":       {WorkflowID: n.workflow, NumCPUs: new(int64(2)), NumGPUs: new(int64(0)), Memory: new("4g")},
	} {
		got, _, err := n.Requirements.List(n.ctx, f, sqlite.Page{Limit: 10})
		n.must(err)
		if diff := cmp.Diff([]workflow.ResourceRequirements{q}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}

	updated, err := n.Requirements.Update(n.ctx, q.ID, RequirementsUpdate{WorkflowID: n.workflow, Memory: new("8g")}, "me")
	n.must(err)
	want := q
	want.Memory = "8g"
	if diff := cmp.Diff(want, updated); diff != "" {
		t.Errorf("an update of the memory alone (-want +got):\n%s", diff)
	}
	if got := n.count(`SELECT memory_bytes FROM resource_requirements WHERE id = ?`, q.ID); got != 8<<30 {
		t.Errorf("memory_bytes %d, want %d", got, int64(8)<<30)
	}
	events, _, err := n.Events.List(n.ctx, EventFilter{WorkflowID: n.workflow, Category: new("user_action")}, sqlite.Page{Limit: 10})
	if err != nil || len(events) != 1 {
		t.Errorf("%d user_action events, error %v; want 1", len(events), err)
	}
}

func TestRequirementsInUseStay(t *testing.T) {
	n := newNouns(t)
	def, used, unused := n.defaultRequirements(), n.requirements("used"), n.requirements("unused")
	n.addJob(n.workflow, used.ID, workflow.Completed)

	_, err := n.Requirements.Delete(n.ctx, used.ID)
	wantCode(t, err, workflow.CodeConflict)
	_, err = n.Requirements.Delete(n.ctx, def)
	wantCode(t, err, workflow.CodeConflict)
	deleted, err := n.Requirements.DeleteUnused(n.ctx, n.workflow)
	if err != nil || deleted != 1 {
		t.Errorf("deleted %d, error %v; want 1", deleted, err)
	}
	_, err = n.Requirements.Get(n.ctx, unused.ID)
	wantCode(t, err, workflow.CodeNotFound)
	_, err = n.Requirements.Delete(n.ctx, n.requirements("again").ID)
	n.must(err)
}

func TestRequirementsRefusals(t *testing.T) {
	n := newNouns(t)
	good := workflow.ResourceRequirements{WorkflowID: n.workflow, Name: "r", NumCPUs: 1, NumNodes: 1, Memory: "1m", Runtime: "PT1M"}
	for name, change := range map[string]func(*workflow.ResourceRequirements){
		"default":         func(q *workflow.ResourceRequirements) { q.Name = "default" },
		"no cpus":         func(q *workflow.ResourceRequirements) { q.NumCPUs = 0 },
		"no nodes":        func(q *workflow.ResourceRequirements) { q.NumNodes = 0 },
		"negative gpus":   func(q *workflow.ResourceRequirements) { q.NumGPUs = -1 },
		"decimal memory":  func(q *workflow.ResourceRequirements) { q.Memory = "1.5g" },
		"words for hours": func(q *workflow.ResourceRequirements) { q.Runtime = "1 hour" },
	} {
		bad := good
		change(&bad)
		_, err := n.Requirements.Create(n.ctx, bad)
		if workflow.CodeOf(err) != workflow.CodeInvalid {
			t.Errorf("%s: error %v, want a refusal", name, err)
		}
	}
	q := n.requirements("r")
	_, err := n.Requirements.Update(n.ctx, q.ID, RequirementsUpdate{WorkflowID: n.other}, "me")
	wantCode(t, err, workflow.CodeInvalid)
	_, err = n.Requirements.Update(n.ctx, q.ID, RequirementsUpdate{WorkflowID: n.workflow, Name: new("default")}, "me")
	wantCode(t, err, workflow.CodeInvalid)
	_, err = n.Requirements.Update(n.ctx, n.defaultRequirements(), RequirementsUpdate{WorkflowID: n.workflow, Name: new("other")}, "me")
	wantCode(t, err, workflow.CodeInvalid)
}
