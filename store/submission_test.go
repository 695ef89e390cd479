package store

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/action"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

func TestASubmissionIsOfOneRun(t *testing.T) {
	r := newRig(t, independent(1)...)
	o := compute.SubmitOptions{OutputDir: "/scratch/out", MaxParallelJobs: 2, Account: "research"}
	if err := r.Scheduling.Submit(r.ctx, r.workflow, compute.SubmitOptions{OutputDir: "out"}, nil, "me"); workflow.CodeOf(err) != workflow.CodeInvalid {
		t.Errorf("a relative output directory: %v", err)
	}
	r.must(r.Scheduling.Submit(r.ctx, r.workflow, o, nil, "me"))
	got, err := r.Scheduling.Submission(r.ctx, r.workflow)
	r.must(err)
	want := &compute.Submission{WorkflowID: r.workflow, RunID: 1, SubmittedMS: r.now.UnixMilli(), Options: o}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if ids, err := r.Scheduling.Workflows(r.ctx); err != nil || len(ids) != 1 {
		t.Errorf("to be looked after: %v %v", ids, err)
	}
	if open, err := r.Workflows.HaveOpenWork(r.ctx); err != nil || !open {
		t.Errorf("ready jobs without a place do not keep the daemon: %v", err)
	}
	_, err = r.Workflows.Reset(r.ctx, r.workflow, true, "me")
	r.must(err)
	if got, err = r.Scheduling.Submission(r.ctx, r.workflow); err != nil || got != nil {
		t.Errorf("it is of the next run too: %+v %v", got, err)
	}
	if ids, err := r.Scheduling.Workflows(r.ctx); err != nil || len(ids) != 0 {
		t.Errorf("still to be looked after: %v %v", ids, err)
	}
	if open, err := r.Workflows.HaveOpenWork(r.ctx); err != nil || open {
		t.Errorf("it still keeps the daemon: %v", err)
	}
	_, err = r.Workflows.Cancel(r.ctx, r.workflow)
	r.must(err)
	if err := r.Scheduling.Submit(r.ctx, r.workflow, o, nil, "me"); workflow.CodeOf(err) != workflow.CodeConflict {
		t.Errorf("a canceled workflow: %v", err)
	}
}

func TestASubmissionArmsScheduling(t *testing.T) {
	r := newRig(t, independent(1)...)
	submit := func(limits *workflow.AutoSchedule) []action.Record {
		t.Helper()
		r.must(r.Scheduling.Submit(r.ctx, r.workflow, compute.SubmitOptions{OutputDir: "/out"}, limits, "me"))
		actions, err := r.Actions.List(r.ctx, r.workflow)
		r.must(err)
		return actions
	}
	own, err := r.Actions.Create(r.ctx, action.Record{
		WorkflowID: r.workflow, TriggerType: action.TriggerWorkflowStart, ActionType: action.ScheduleNodes, Config: json.RawMessage(`{}`),
	})
	r.must(err)
	if actions := submit(nil); len(actions) != 1 {
		t.Errorf("its own actions are not enough: %+v", actions)
	}
	r.must(r.Actions.Delete(r.ctx, r.workflow, own.ID))
	for i, limits := range []*workflow.AutoSchedule{nil, nil, {MaxAllocations: 3}} {
		actions := submit(limits)
		if len(actions) != 1 || !actions[0].IsAutoSchedule() {
			t.Fatalf("submission %d: %+v", i+1, actions)
		}
		config, err := actions[0].ScheduleNodes()
		if r.must(err); limits != nil && config.AutoSchedule != *limits {
			t.Errorf("the limits are %+v", config.AutoSchedule)
		}
	}
	if err := r.Scheduling.Submit(r.ctx, r.workflow, compute.SubmitOptions{OutputDir: "/out"}, &workflow.AutoSchedule{IdleTimeout: "5m"}, "me"); workflow.CodeOf(err) != workflow.CodeInvalid {
		t.Errorf("a bad limit: %v", err)
	}
}

func TestTheDaemonTakesActions(t *testing.T) {
	r := newRig(t, independent(1)...)
	add := func(trigger string, count int64, persistent bool) int64 {
		a := action.Record{WorkflowID: r.workflow, TriggerType: trigger, ActionType: action.ScheduleNodes, Config: json.RawMessage(`{}`), TriggerCount: count, Persistent: persistent}
		a, err := r.Actions.Create(r.ctx, a)
		r.must(err)
		return a.ID
	}
	for _, tt := range []struct {
		name string
		id   int64
		want bool
	}{
		{"triggered", add(action.TriggerWorkflowStart, 1, false), true},
		{"persistent", add(action.TriggerWorkflowStart, 1, true), true},
		{"not triggered", add(action.TriggerWorkflowStart, 0, false), false},
		{"automatic", add(action.TriggerAutoSchedule, 1, false), false},
	} {
		taken, err := r.Actions.Take(r.ctx, r.workflow, tt.id)
		if err != nil || taken != tt.want {
			t.Errorf("%s: taken %t, %v", tt.name, taken, err)
		}
		if again, err := r.Actions.Take(r.ctx, r.workflow, tt.id); err != nil || again {
			t.Errorf("%s: taken twice, %v", tt.name, err)
		}
	}
	r.must(r.Workflows.Initialize(r.ctx, r.workflow, InitializeOptions{}))
	actions, err := r.Actions.List(r.ctx, r.workflow)
	r.must(err)
	if a := actions[0]; !a.IsPending() || a.TakenMS != 0 {
		t.Errorf("it is not armed anew: %+v", a)
	}
}

func TestAskedAllocationsTellWhatCameOfThem(t *testing.T) {
	r := newRig(t, independent(2)...)
	ask := func(intent string, action int64) compute.Allocation {
		a, err := r.Allocations.Intend(r.ctx, AllocationIntent{
			WorkflowID: r.workflow, RunID: 1, IntentID: intent, JobName: intent, Why: "test", Request: compute.AllocationRequest{Nodes: 1, ActionID: action, Pool: "p"},
		})
		r.must(err)
		return a
	}
	ask("persons", 0)
	refused, worked := ask("refused", 7), ask("worked", 7)
	r.must(r.Allocations.End(r.ctx, refused.ID, compute.AllocationEnd{Cause: compute.AllocationRefused, Confidence: workflow.Certain, Text: "no", Refusal: "limit"}))
	asked := r.now
	r.now = r.now.Add(time.Minute)
	_, err := r.Allocations.Adopt(r.ctx, FoundJob{IntentID: "worked", Cluster: "c", SlurmJobID: 5})
	r.must(err)
	h := r.hand("n1", 1)
	r.do(func(tx *core.Tx) error {
		return tx.ExecOne(`UPDATE compute_node SET allocation_id = ?, turn = 1 WHERE id = ?`, worked.ID, h.id)
	})
	got, err := r.Actions.AskedAllocations(r.ctx, r.workflow)
	r.must(err)
	want := []AskedAllocation{
		{ID: worked.ID, ActionID: 7, Pool: "p", AskedMS: asked.UnixMilli(), Worked: true},
		{ID: refused.ID, ActionID: 7, Pool: "p", AskedMS: asked.UnixMilli(), EndMS: asked.UnixMilli(), Cause: compute.AllocationRefused, Refusal: "limit", CauseText: "no"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
