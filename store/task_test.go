package store

import (
	"errors"
	"testing"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/event"
)

func TestTaskLife(t *testing.T) {
	n := newNouns(t)
	first, isNew, err := n.Tasks.Queue(n.ctx, n.workflow, workflow.OperationInitializeJobs, "a")
	if err != nil || !isNew || first.Status != workflow.TaskQueued {
		t.Fatalf("task %+v, new %v, error %v", first, isNew, err)
	}
	same, isNew, err := n.Tasks.Queue(n.ctx, n.workflow, workflow.OperationInitializeJobs, "a")
	if err != nil || isNew || same.ID != first.ID {
		t.Errorf("the same once more: task %+v, new %v, error %v", same, isNew, err)
	}
	_, _, err = n.Tasks.Queue(n.ctx, n.workflow, workflow.OperationInitializeJobs, "b")
	var conflict *TaskConflictError
	if !errors.As(err, &conflict) || conflict.Task.ID != first.ID {
		t.Errorf("with other parameters: error %v, want a conflict with task %d", err, first.ID)
	}
	if active, err := n.Tasks.Active(n.ctx, n.workflow); err != nil || active == nil || active.ID != first.ID {
		t.Errorf("active task %+v, error %v", active, err)
	}
	n.must(n.Tasks.Start(n.ctx, first.ID))
	n.must(n.Tasks.Finish(n.ctx, first.ID, "it broke", "me"))
	done, err := n.Tasks.Get(n.ctx, first.ID)
	if err != nil || done.Status != workflow.TaskFailed || *done.Error != "it broke" || done.StartedAtMS == nil || done.FinishedAtMS == nil {
		t.Errorf("the finished task is %+v, error %v", done, err)
	}
	if active, err := n.Tasks.Active(n.ctx, n.workflow); err != nil || active != nil {
		t.Errorf("active task %+v, error %v; want none", active, err)
	}
	if err := n.Tasks.Finish(n.ctx, first.ID, "", "me"); err == nil {
		t.Error("a task could be finished twice")
	}
	events, err := n.Events.After(n.ctx, n.workflow, 0, 10)
	n.must(err)
	if len(events) != 1 || events[0].Type != workflow.EventTaskCompleted || events[0].Severity != event.SeverityError {
		t.Errorf("events %+v", events)
	}
}

func TestTasksOfAnEarlierDaemonHaveFailed(t *testing.T) {
	n := newNouns(t)
	queued, _, err := n.Tasks.Queue(n.ctx, n.workflow, workflow.OperationInitializeJobs, "")
	n.must(err)
	running, _, err := n.Tasks.Queue(n.ctx, n.other, workflow.OperationInitializeJobs, "")
	n.must(err)
	n.must(n.Tasks.Start(n.ctx, running.ID))
	if failed, err := n.Tasks.FailInterrupted(n.ctx); err != nil || failed != 2 {
		t.Errorf("failed %d, error %v; want 2", failed, err)
	}
	for _, id := range []int64{queued.ID, running.ID} {
		got, err := n.Tasks.Get(n.ctx, id)
		if err != nil || got.Status != workflow.TaskFailed || *got.Error != "server restarted while task was in progress" {
			t.Errorf("task %+v, error %v", got, err)
		}
	}
	if failed, err := n.Tasks.FailInterrupted(n.ctx); err != nil || failed != 0 {
		t.Errorf("failed %d once more, error %v; want none", failed, err)
	}
}
