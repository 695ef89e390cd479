package service

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/torc-slurm/torc-slurm/allocation"
	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/scheduler"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/action"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// cluster is a Slurm that takes requests, or says why not.
type cluster struct {
	*world
	refusal error
	taken   int64
}

func (c *cluster) Submit(ctx context.Context, want allocation.Want) (compute.Allocation, error) {
	if c.refusal != nil {
		return compute.Allocation{}, c.refusal
	}
	c.taken++
	intent := fmt.Sprintf("%016x", c.taken)
	at, err := c.store.Workflows.Get(ctx, want.WorkflowID)
	if err != nil {
		return compute.Allocation{}, err
	}
	_, err = c.store.Allocations.Intend(ctx, store.AllocationIntent{
		WorkflowID: want.WorkflowID, RunID: at.RunID, IntentID: intent, JobName: "a", Request: want.Request, SchedulerConfigID: want.SchedulerConfigID, Why: want.Why,
	})
	if err != nil {
		return compute.Allocation{}, err
	}
	return c.store.Allocations.Adopt(ctx, store.FoundJob{IntentID: intent, Cluster: "c", SlurmJobID: c.taken})
}

// onCluster gives a world's service a Slurm.
func (w *world) onCluster() *cluster {
	c := &cluster{world: w}
	w.Site, w.Cluster, w.UseSite = smallSite, c, func() {}
	w.Told = func(_ context.Context, err error) string { return err.Error() }
	w.Scheduler = scheduler.New(scheduler.Options{Store: w.store, Submitter: c, Now: w.Now, Log: slog.New(slog.DiscardHandler), Site: smallSite})
	return c
}

func TestRegenerateSubmits(t *testing.T) {
	w := newWorld(t)
	c := w.onCluster()
	w.must(w.store.Workflows.Initialize(t.Context(), w.id, store.InitializeOptions{}))
	shape, err := w.store.SlurmSchedulers.Create(t.Context(), compute.SlurmScheduler{WorkflowID: w.id, Name: "old", Account: "me", Nodes: 2, Walltime: "03:00:00"})
	w.must(err)
	due, err := w.store.Actions.Create(t.Context(), action.Record{
		WorkflowID: w.id, TriggerType: action.TriggerWorkflowStart, ActionType: action.ScheduleNodes, TriggerCount: 1,
		Config: json.RawMessage(fmt.Sprintf(`{"scheduler_id": %d, "scheduler_type": "slurm"}`, shape.ID)),
	})
	w.must(err)
	q := &api.RegenerateRequest{DryRun: true, Submit: &api.SubmitRequest{OutputDir: "/out"}}
	w.unchanged(func() error {
		plan, err := w.Regenerate(t.Context(), me, w.id, q)
		if !slices.Equal(plan.SuppressedActions, []int64{due.ID}) || plan.Submission != nil || plan.TotalAllocations != 1 {
			t.Errorf("proposed %+v", plan)
		}
		return err
	})
	q.DryRun = false
	done, err := w.Regenerate(t.Context(), me, w.id, q)
	w.must(err)
	if s := done.Submission; s == nil || !s.RequestsMore || len(s.Requested) != 1 || c.taken != 1 || !slices.Equal(done.SuppressedActions, []int64{due.ID}) {
		t.Fatalf("done %+v", done)
	}
	// Repeated, as after a lost answer, nothing more is requested.
	again, err := w.Regenerate(t.Context(), me, w.id, q)
	w.must(err)
	if c.taken != 1 || again.Submission == nil || len(again.Submission.Requested) != 0 || again.LiveAllocations != 1 || len(again.SuppressedActions) != 0 {
		t.Errorf("again: %+v", again)
	}
}

// TestRegenerateSubmitsOnce: what is missing is requested once, and what Slurm rejects is
// told.
func TestRegenerateSubmitsOnce(t *testing.T) {
	w := newWorld(t)
	c := w.onCluster()
	w.must(w.store.Workflows.Initialize(t.Context(), w.id, store.InitializeOptions{}))
	_, err := w.store.Jobs.Create(t.Context(), []workflow.Job{{WorkflowID: w.id, Name: "later", Command: "true", DependsOn: []int64{w.good}}})
	w.must(err)
	q := &api.RegenerateRequest{Submit: &api.SubmitRequest{OutputDir: "/out", NoAutoSchedule: new(true)}}
	c.refusal = &slurm.Error{Class: slurm.Permanent}
	done, err := w.Regenerate(t.Context(), me, w.id, q)
	w.must(err)
	if s := done.Submission; s == nil || s.RequestsMore || len(s.Requested) != 0 || len(s.Refusals) != 1 || s.Refusals[0].Class != string(slurm.Permanent) {
		t.Fatalf("rejected: %+v", done.Submission)
	}
	if done.Submission.NoAllocation == nil {
		t.Error("the answer does not say that there is no allocation")
	}
	c.refusal = nil
	done, err = w.Regenerate(t.Context(), me, w.id, q)
	w.must(err)
	if len(done.Submission.Requested) != 1 || c.taken != 1 || len(done.Submission.Refusals) != 0 || done.Submission.NoAllocation != nil {
		t.Errorf("taken: %+v", done.Submission)
	}
	if !slices.ContainsFunc(done.Warnings, func(text string) bool { return strings.HasPrefix(text, "nothing asks for the 1 allocation of ") }) {
		t.Errorf("no warning of what nobody requests: %+v", done)
	}
}

// TestRegenerateStartsTheRun: one call starts a run, makes the schedulers and submits; its
// dry run names the actions that the start would trigger.
func TestRegenerateStartsTheRun(t *testing.T) {
	w := newWorld(t)
	c := w.onCluster()
	due, err := w.store.Actions.Create(t.Context(), action.Record{
		WorkflowID: w.id, TriggerType: action.TriggerWorkflowStart, ActionType: action.ScheduleNodes, RequiredTriggers: 1,
		Config: json.RawMessage(`{"scheduler_type": "slurm"}`),
	})
	w.must(err)
	q := &api.RegenerateRequest{DryRun: true, StartRun: true, Submit: &api.SubmitRequest{OutputDir: "/out"}}
	w.unchanged(func() error {
		plan, err := w.Regenerate(t.Context(), me, w.id, q)
		if plan.Start == nil || !plan.Start.Started || plan.Start.RunID != 1 || !slices.Equal(plan.SuppressedActions, []int64{due.ID}) {
			t.Errorf("proposed %+v", plan)
		}
		return err
	})
	q.DryRun = false
	done, err := w.Regenerate(t.Context(), me, w.id, q)
	w.must(err)
	if done.Start == nil || !done.Start.Started || done.Submission == nil || c.taken != 1 || len(done.Schedulers) != 1 || !done.Schedulers[0].IsNew {
		t.Fatalf("done %+v", done)
	}
	again, err := w.Regenerate(t.Context(), me, w.id, q)
	w.must(err)
	if again.Start == nil || again.Start.Started || c.taken != 1 || again.LiveAllocations != 1 || again.TotalAllocations != 0 {
		t.Errorf("again: %+v", again)
	}
	_, err = w.Cancel(t.Context(), w.id)
	w.must(err)
	w.unchanged(func() error {
		if _, err := w.Regenerate(t.Context(), me, w.id, q); workflow.CodeOf(err) != workflow.CodeConflict {
			t.Errorf("of a canceled workflow: %v", err)
		}
		return nil
	})
}

// TestRegenerateForTerminatedJobs: jobs that run again because a run starts get a scheduler.
func TestRegenerateForTerminatedJobs(t *testing.T) {
	w := newWorld(t)
	w.onCluster()
	w.runTo(workflow.Terminated)
	at, err := w.store.Workflows.Get(t.Context(), w.id)
	w.must(err)
	_, err = w.store.Workflows.ResetChosen(t.Context(), w.id, []int64{w.good}, store.JobsResetOptions{RunID: at.RunID})
	w.must(err)
	done, err := w.Regenerate(t.Context(), me, w.id, &api.RegenerateRequest{StartRun: true, Submit: &api.SubmitRequest{OutputDir: "/out"}})
	w.must(err)
	if len(done.Schedulers) != 1 || len(done.Schedulers[0].JobIDs) != 2 || done.PendingJobs != 2 {
		t.Errorf("done %+v", done)
	}
}
