package store

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/action"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

// TestStartRun: of several callers one starts the run, and its actions are triggered once.
func TestStartRun(t *testing.T) {
	n := newNouns(t)
	g := n.graph(diamond())
	a, err := n.Actions.Create(n.ctx, action.Record{WorkflowID: g.workflow, TriggerType: action.TriggerWorkflowStart, ActionType: "run_commands", RequiredTriggers: 1, Config: []byte(`{"commands":["true"]}`)})
	n.must(err)
	want := RunStart{Start: stage.Start{Starts: true, NewRun: true, Reason: "no run has started yet"}, RunID: 1, Ready: 1, Blocked: 3, DueActions: []int64{a.ID}}
	g.unchanged("a proposal", func() {
		p, err := n.Workflows.ProposeStartRun(n.ctx, g.workflow, "me")
		if n.must(err); !cmp.Equal(p, want) {
			t.Errorf("proposed %+v, want %+v", p, want)
		}
	})
	s, err := n.Workflows.StartRun(n.ctx, g.workflow, "me")
	if n.must(err); !cmp.Equal(s, want) {
		t.Errorf("started %+v, want %+v", s, want)
	}
	g.want("afterwards", ready, blocked, blocked, blocked)
	n.must(n.Actions.Claim(n.ctx, g.workflow, a.ID, nil))
	g.unchanged("a repetition", func() {
		s, err := n.Workflows.StartRun(n.ctx, g.workflow, "you")
		if want := (RunStart{Start: stage.Start{Reason: "run 1 has already started"}, RunID: 1, Ready: 1, Blocked: 3}); err != nil || !cmp.Equal(s, want) {
			t.Errorf("repeated %+v, %v, want %+v", s, err, want)
		}
	})
	wantCode(t, n.Actions.Claim(n.ctx, g.workflow, a.ID, nil), workflow.CodeConflict)
}

// TestStartRunAfterReset: the run of a reset in which nothing has run is started; complete
// jobs stay.
func TestStartRunAfterReset(t *testing.T) {
	n := newNouns(t)
	g := n.begun(completed, failed, completed, canceled)
	_, _, err := n.Workflows.ResetAll(n.ctx, g.workflow, ResetOptions{RunID: 1, FailedOnly: true, User: "me"})
	n.must(err)
	s, err := n.Workflows.StartRun(n.ctx, g.workflow, "me")
	if n.must(err); s.RunID != 2 || !s.Starts || s.NewRun || !s.OnlyUninitialized {
		t.Errorf("started %+v", s)
	}
	g.want("afterwards", completed, ready, completed, blocked)
}

// TestStartRunRejected: nothing changes if a workflow is canceled, archived, empty or unknown.
func TestStartRunRejected(t *testing.T) {
	n := newNouns(t)
	g := n.graph(diamond())
	rejected := func(what string, id int64, code workflow.Code) {
		t.Helper()
		g.unchanged(what, func() {
			_, err := n.Workflows.ProposeStartRun(n.ctx, id, "me")
			wantCode(t, err, code)
			_, err = n.Workflows.StartRun(n.ctx, id, "me")
			wantCode(t, err, code)
		})
	}
	rejected("unknown", g.workflow+99, workflow.CodeNotFound)
	empty, err := n.Workflows.Create(n.ctx, workflow.Workflow{Name: "empty", User: "me"})
	n.must(err)
	rejected("empty", empty.ID, workflow.CodeConflict)
	_, err = n.Workflows.Archive(n.ctx, g.workflow, true, "me")
	n.must(err)
	rejected("archived", g.workflow, workflow.CodeInvalid)
	_, err = n.Workflows.Archive(n.ctx, g.workflow, false, "me")
	n.must(err)
	_, err = n.Workflows.Cancel(n.ctx, g.workflow)
	n.must(err)
	rejected("canceled", g.workflow, workflow.CodeConflict)
}
