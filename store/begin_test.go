package store

import (
	"testing"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/action"
)

// TestOneBeginsTheRun: of several callers who saw a workflow at the same run, one starts
// the next, and one initializes it.
func TestOneBeginsTheRun(t *testing.T) {
	for _, partial := range []bool{false, true} {
		n := newNouns(t)
		g := n.graph(diamond())
		w, err := n.Workflows.ResetAt(n.ctx, g.workflow, 0, false, "ann")
		if n.must(err); w.RunID != 1 {
			t.Fatalf("run %d", w.RunID)
		}
		_, err = n.Workflows.ResetAt(n.ctx, g.workflow, 0, true, "bob")
		wantCode(t, err, workflow.CodeConflict)
		initialize := func(run int64) error {
			return n.Workflows.Initialize(n.ctx, g.workflow, InitializeOptions{OnlyUninitialized: partial, Begin: &run})
		}
		wantCode(t, initialize(0), workflow.CodeConflict)
		n.must(initialize(1))
		wantCode(t, initialize(1), workflow.CodeConflict)
		if w, err = n.Workflows.Get(n.ctx, g.workflow); err != nil || w.RunID != 1 {
			t.Errorf("run %d, %v", w.RunID, err)
		}
	}
}

// TestLateInitializationLeavesActions: an initialization for a run that has already
// started does not reset what actions have done.
func TestLateInitializationLeavesActions(t *testing.T) {
	n := newNouns(t)
	g := n.graph(diamond())
	first := int64(0)
	a, err := n.Actions.Create(n.ctx, action.Record{WorkflowID: g.workflow, TriggerType: action.TriggerWorkflowStart, ActionType: "run_commands", RequiredTriggers: 1, Config: []byte(`{"commands":["true"]}`)})
	n.must(err)
	n.must(n.Workflows.Initialize(n.ctx, g.workflow, InitializeOptions{Begin: &first}))
	n.must(n.Actions.Claim(n.ctx, g.workflow, a.ID, nil))
	wantCode(t, n.Workflows.Initialize(n.ctx, g.workflow, InitializeOptions{Begin: &first}), workflow.CodeConflict)
	wantCode(t, n.Actions.Claim(n.ctx, g.workflow, a.ID, nil), workflow.CodeConflict)
}
