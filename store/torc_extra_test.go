package store

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// What torc's clients send is returned, although it has no effect.
func TestTorcExtraOfWorkflows(t *testing.T) {
	n := newNouns(t)
	given := workflow.TorcWorkflow{ComputeNodeExpirationBufferSeconds: new(int64(60)), EnableROCrate: new(true), AccessGroups: []string{"a", "b"}}
	w, err := n.Workflows.Create(n.ctx, workflow.Workflow{Name: "created", User: "me", Description: new("torc"), TorcWorkflow: given})
	n.must(err)
	if diff := cmp.Diff(given, w.TorcWorkflow); diff != "" {
		t.Errorf("created (-want +got):\n%s", diff)
	}
	defined, err := n.Workflows.Get(n.ctx, n.define(&workflow.Definition{Name: "defined", User: "me", Description: "torc", TorcWorkflow: given}))
	n.must(err)
	if diff := cmp.Diff(given, defined.TorcWorkflow); diff != "" {
		t.Errorf("defined (-want +got):\n%s", diff)
	}

	plain, err := n.Workflows.Get(n.ctx, n.define(&workflow.Definition{Name: "plain", User: "me", Description: "torc"}))
	n.must(err)
	if diff := cmp.Diff(workflow.TorcWorkflow{EnableROCrate: new(false)}, plain.TorcWorkflow); diff != "" {
		t.Errorf("not given (-want +got):\n%s", diff)
	}
	updated, err := n.Workflows.Update(n.ctx, plain.ID, workflow.WorkflowUpdate{TorcWorkflow: workflow.TorcWorkflow{ComputeNodeExpirationBufferSeconds: new(int64(7))}})
	n.must(err)
	if diff := cmp.Diff(workflow.TorcWorkflow{ComputeNodeExpirationBufferSeconds: new(int64(7)), EnableROCrate: new(false)}, updated.TorcWorkflow); diff != "" {
		t.Errorf("updated (-want +got):\n%s", diff)
	}

	for by, want := range map[string][]string{
		"compute_node_expiration_buffer_seconds": {"plain", "created", "defined"},
		"enable_ro_crate":                        {"plain", "created", "defined"},
	} {
		list, _, err := n.Workflows.List(n.ctx, WorkflowFilter{Description: new("torc")}, sqlite.Page{Limit: 10, SortBy: by})
		n.must(err)
		var names []string
		for _, w := range list {
			names = append(names, w.Name)
		}
		if !slices.Equal(names, want) {
			t.Errorf("sorted by %s: %v, not %v", by, names, want)
		}
	}
}

func TestJobsSortedByATorcKey(t *testing.T) {
	n := newNouns(t)
	job := func(name string, supports *bool) workflow.JobDefinition {
		return workflow.JobDefinition{Name: name, Command: "true", TorcJob: workflow.TorcJob{SupportsTermination: supports}}
	}
	id := n.define(&workflow.Definition{Name: "w", User: "me", Jobs: []workflow.JobDefinition{job("yes", new(true)), job("no", new(false)), job("absent", nil)}})
	jobs, _, err := n.Jobs.List(n.ctx, JobFilter{WorkflowID: id}, sqlite.Page{Limit: 10, SortBy: "supports_termination"})
	n.must(err)
	if len(jobs) != 3 || jobs[0].Name != "no" || jobs[1].Name != "absent" || jobs[2].Name != "yes" {
		t.Errorf("sorted: %+v", jobs)
	}
}
