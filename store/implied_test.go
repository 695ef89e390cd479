package store

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/action"
)

// edges lists the edges of the graph by the jobs' names.
func (g *jobGraph) edges() (edges []string) {
	g.t.Helper()
	list, _, err := g.Jobs.Dependencies(g.ctx, g.workflow, sqlite.Page{Limit: 100})
	g.must(err)
	for _, e := range list {
		edges = append(edges, e.JobName+" after "+e.DependsOnJobName)
	}
	return edges
}

func TestImpliedDependencies(t *testing.T) {
	n := newNouns(t)
	g := n.graph(&workflow.Definition{Name: "w", User: "me",
		Files:    []workflow.FileDefinition{{Name: "f", Path: "f"}, {Name: "g", Path: "g"}},
		UserData: []workflow.UserDataDefinition{{Name: "d"}},
		Jobs: []workflow.JobDefinition{
			{Name: "writes f", Command: "true", OutputFiles: []int32{0}},
			{Name: "writes f too", Command: "true", OutputFiles: []int32{0}},
			{Name: "reads f", Command: "true", InputFiles: []int32{0}, OutputUserData: []int32{0}},
			{Name: "reads f also", Command: "true", InputFiles: []int32{0}, DependsOn: []int32{0}},
			{Name: "reads d", Command: "true", InputUserData: []int32{0}, DependsOn: []int32{0}},
			{Name: "changes g", Command: "true", InputFiles: []int32{1}, OutputFiles: []int32{1}},
		}})
	if diff := cmp.Diff([]string{"reads f also after writes f", "reads d after writes f"}, g.edges()); diff != "" {
		t.Errorf("before (-want +got):\n%s", diff)
	}
	want := []string{"reads f after writes f", "reads f after writes f too", "reads f also after writes f", "reads f also after writes f too",
		"reads d after writes f", "reads d after reads f"}
	for range 2 { // the second time there is nothing new
		n.must(n.Workflows.Initialize(n.ctx, g.workflow, InitializeOptions{}))
		if diff := cmp.Diff(want, g.edges()); diff != "" {
			t.Errorf("initialized (-want +got):\n%s", diff)
		}
		g.want("initialized", ready, ready, blocked, blocked, blocked, ready)
	}
	if a, b := *g.jobOf(2).GateID, *g.jobOf(3).GateID; a != b {
		t.Errorf("gates %d and %d: jobs with the same dependencies share one", a, b)
	}
	if k := n.count(`SELECT COUNT(*) FROM gate WHERE workflow_id = ?`, g.workflow); k != 3 {
		t.Errorf("%d gates, want 3: one is of nobody any more", k)
	}
}

func TestImpliedCycleIsRefused(t *testing.T) {
	n := newNouns(t)
	g := n.graph(&workflow.Definition{Name: "w", User: "me",
		Files: []workflow.FileDefinition{{Name: "f", Path: "f"}, {Name: "g", Path: "g"}},
		Jobs: []workflow.JobDefinition{
			{Name: "a", Command: "true", InputFiles: []int32{1}, OutputFiles: []int32{0}},
			{Name: "b", Command: "true", InputFiles: []int32{0}, OutputFiles: []int32{1}},
		}})
	err := n.Workflows.Initialize(n.ctx, g.workflow, InitializeOptions{})
	wantCode(t, err, workflow.CodeInvalid)
	if err == nil || !strings.Contains(err.Error(), "a -> b -> a") {
		t.Errorf("error %v", err)
	}
	if edges := g.edges(); edges != nil {
		t.Errorf("the edges %v are left of it", edges)
	}
	g.want("refused", uninitialized, uninitialized)
}

func TestInitializeArmsActions(t *testing.T) {
	n := newNouns(t)
	d := diamond()
	run := func(trigger string, jobs ...int32) workflow.ActionDefinition {
		return workflow.ActionDefinition{TriggerType: trigger, ActionType: action.RunCommands, Commands: []string{"true"}, Jobs: jobs}
	}
	d.Actions = []workflow.ActionDefinition{
		run(action.TriggerWorkflowStart), run(action.TriggerJobsReady, 0, 1), run(action.TriggerJobsReady, 0),
		run(action.TriggerJobsComplete, 0, 3), run(action.TriggerWorkerStart), run(action.TriggerWorkflowComplete),
	}
	g := n.graph(d)
	pending := func(what string, want ...int) {
		t.Helper()
		actions, err := n.Actions.List(n.ctx, g.workflow)
		n.must(err)
		var got []int
		for i, a := range actions {
			if a.IsPending() {
				got = append(got, i)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: pending actions (-want +got):\n%s", what, diff)
		}
	}
	claim := func(i int) {
		t.Helper()
		actions, err := n.Actions.List(n.ctx, g.workflow)
		n.must(err)
		n.must(n.Actions.Claim(n.ctx, g.workflow, actions[i].ID, nil))
	}
	pending("created")
	n.must(n.Workflows.Initialize(n.ctx, g.workflow, InitializeOptions{}))
	pending("initialized", 0, 2, 4)
	claim(0)
	claim(2)
	g.force(0, completed)
	pending("a completed", 1, 4)
	for i := 1; i < 4; i++ {
		g.force(i, completed)
	}
	pending("all completed", 1, 3, 4, 5)
	claim(3)
	n.must(n.Workflows.Initialize(n.ctx, g.workflow, InitializeOptions{OnlyUninitialized: true}))
	pending("nothing to do: what was done is not repeated", 1, 4)
	n.must(n.Workflows.Initialize(n.ctx, g.workflow, InitializeOptions{}))
	pending("armed anew", 0, 1, 2, 3, 4)
}

func TestInitializeClearsEphemeralData(t *testing.T) {
	n := newNouns(t)
	d := diamond()
	d.UserData = []workflow.UserDataDefinition{{Name: "stays", Data: json.RawMessage(`1`)}, {Name: "goes", IsEphemeral: true, Data: json.RawMessage(`2`)}}
	g := n.graph(d)
	data := func() (values []string) {
		list, _, err := n.UserData.List(n.ctx, UserDataFilter{WorkflowID: g.workflow}, sqlite.Page{Limit: 10})
		n.must(err)
		for _, u := range list {
			values = append(values, string(u.Data))
		}
		return values
	}
	n.must(n.Workflows.Initialize(n.ctx, g.workflow, InitializeOptions{}))
	if diff := cmp.Diff([]string{"1", "2"}, data()); diff != "" {
		t.Errorf("data (-want +got):\n%s", diff)
	}
	n.must(n.Workflows.Initialize(n.ctx, g.workflow, InitializeOptions{ClearEphemeralData: true}))
	if diff := cmp.Diff([]string{"1", ""}, data()); diff != "" {
		t.Errorf("data (-want +got):\n%s", diff)
	}
}

func TestEmptyWorkflowEndsWhenItIsInitialized(t *testing.T) {
	n := newNouns(t)
	w, err := n.Workflows.Create(n.ctx, workflow.Workflow{Name: "w", User: "me"})
	n.must(err)
	n.must(n.Workflows.Initialize(n.ctx, w.ID, InitializeOptions{}))
	if w, err = n.Workflows.Get(n.ctx, w.ID); err != nil || w.Verdict != workflow.EventWorkflowCompleted {
		t.Errorf("verdict %q, error %v", w.Verdict, err)
	}
	wantCode(t, n.Workflows.Initialize(n.ctx, 999, InitializeOptions{}), workflow.CodeNotFound)
}
