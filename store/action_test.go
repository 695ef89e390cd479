package store

import (
	"encoding/json"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/action"
)

func (n *nouns) action(change func(*action.Record)) action.Record {
	n.t.Helper()
	a := action.Record{
		WorkflowID: n.workflow, TriggerType: action.TriggerWorkflowStart, ActionType: action.RunCommands,
		Config: json.RawMessage(`{"commands":["true"]}`),
	}
	change(&a)
	created, err := n.Actions.Create(n.ctx, a)
	n.must(err)
	return created
}

func TestActionsKeepTheirJobs(t *testing.T) {
	n := newNouns(t)
	jobs := []int64{n.job(n.workflow), n.job(n.workflow)}
	want := []action.Record{
		n.action(func(*action.Record) {}),
		n.action(func(a *action.Record) { a.TriggerType, a.JobIDs = action.TriggerJobsReady, jobs }),
		n.action(func(a *action.Record) { a.TriggerType, a.JobIDs = action.TriggerJobsComplete, []int64{} }),
	}
	for i, required := range []int64{1, 2, 0} {
		if want[i].RequiredTriggers != required {
			t.Errorf("action %d requires %d triggers, want %d", i, want[i].RequiredTriggers, required)
		}
	}
	got, err := n.Actions.List(n.ctx, n.workflow)
	n.must(err)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	_, err = n.Actions.Create(n.ctx, action.Record{
		WorkflowID: n.workflow, ActionType: "other", Config: json.RawMessage(`{}`), JobIDs: []int64{n.job(n.other)},
	})
	wantCode(t, err, workflow.CodeInvalid)
}

func TestOneCallerClaimsAnAction(t *testing.T) {
	n := newNouns(t)
	a, node := n.action(func(*action.Record) {}), n.node(n.workflow)
	var winners, losers atomic.Int64
	var callers sync.WaitGroup
	for range 16 {
		callers.Go(func() {
			switch err := n.Actions.Claim(n.ctx, n.workflow, a.ID, &node); {
			case err == nil:
				winners.Add(1)
			case workflow.CodeOf(err) == workflow.CodeConflict:
				losers.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	callers.Wait()
	if winners.Load() != 1 || losers.Load() != 15 {
		t.Errorf("%d winners and %d losers", winners.Load(), losers.Load())
	}
	got, err := n.Actions.List(n.ctx, n.workflow)
	n.must(err)
	if !got[0].Executed || got[0].ExecutedAt == nil || *got[0].ExecutedBy != node {
		t.Errorf("the claimed action is %+v", got[0])
	}
	_, err = n.Actions.UpdateConfig(n.ctx, n.workflow, a.ID, json.RawMessage(`{"commands":["false"]}`))
	wantCode(t, err, workflow.CodeConflict)
}

func TestPersistentActionIsClaimedByEverybody(t *testing.T) {
	n := newNouns(t)
	a := n.action(func(a *action.Record) { a.Persistent = true })
	for range 3 {
		n.must(n.Actions.Claim(n.ctx, n.workflow, a.ID, nil))
	}
	got, err := n.Actions.List(n.ctx, n.workflow)
	n.must(err)
	if got[0].Executed || got[0].ExecutedAt == nil {
		t.Errorf("the claimed action is %+v", got[0])
	}
}

func TestActionRefusals(t *testing.T) {
	n := newNouns(t)
	a := n.action(func(*action.Record) {})
	for name, c := range map[string]struct {
		err  error
		want workflow.Code
	}{
		"claim an unknown action":       {n.Actions.Claim(n.ctx, n.workflow, 99, nil), workflow.CodeNotFound},
		"claim by way of another":       {n.Actions.Claim(n.ctx, n.other, a.ID, nil), workflow.CodeNotFound},
		"claim for an unknown node":     {n.Actions.Claim(n.ctx, n.workflow, a.ID, new(int64(99))), workflow.CodeInvalid},
		"claim for a node of another":   {n.Actions.Claim(n.ctx, n.workflow, a.ID, new(n.node(n.other))), workflow.CodeInvalid},
		"delete by way of another":      {n.Actions.Delete(n.ctx, n.other, a.ID), workflow.CodeNotFound},
		"delete in an unknown workflow": {n.Actions.Delete(n.ctx, 99, a.ID), workflow.CodeNotFound},
	} {
		if got := workflow.CodeOf(c.err); got != c.want {
			t.Errorf("%s: error %v, want code %s", name, c.err, c.want)
		}
	}
	for _, patch := range []string{`{}`, `[]`, `{"other": 1}`, `{"commands": []}`} {
		_, err := n.Actions.UpdateConfig(n.ctx, n.workflow, a.ID, json.RawMessage(patch))
		wantCode(t, err, workflow.CodeInvalid)
	}
	n.must(n.Actions.Delete(n.ctx, n.workflow, a.ID))
}
