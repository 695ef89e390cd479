package server

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func (s *Server) taskRoutes() []route {
	return []route{
		handle("GET", "/tasks/{id}", "Get a background task", s.getTask),
		handle("GET", "/workflows/{id}/active_task", "Get the queued or running task of a workflow", s.getActiveTask),
	}
}

func fromTask(t workflow.Task) api.Task {
	return api.Task{
		ID: t.ID, WorkflowID: t.WorkflowID, Operation: t.Operation, Status: api.TaskStatus(t.Status), CreatedAtMS: t.CreatedAtMS,
		StartedAtMS: t.StartedAtMS, FinishedAtMS: t.FinishedAtMS, Error: t.Error,
	}
}

func (s *Server) getTask(r *request[idParams, none]) (api.Task, error) {
	t, err := s.Store.Task(r.Context(), r.Params.ID)
	return fromTask(t), err
}

func (s *Server) getActiveTask(r *request[idParams, none]) (api.ActiveTask, error) {
	t, err := s.Store.ActiveTask(r.Context(), r.Params.ID)
	if err != nil || t == nil {
		return api.ActiveTask{}, err
	}
	return api.ActiveTask{Task: new(fromTask(*t))}, nil
}

// runTask does the work of a queued task in the background; Close waits for
// it. The work does not end with the request that asked for it.
func (s *Server) runTask(t workflow.Task, user string, work func(context.Context) error) {
	s.tasks.Go(func() {
		ctx := context.Background()
		if err := s.Store.StartTask(ctx, t.ID); err != nil {
			s.Log.Error("a task could not be started", "task_id", t.ID, "workflow_id", t.WorkflowID, "error", err)
			return
		}
		failure := ""
		if err := work(ctx); err != nil {
			failure = s.told(context.WithValue(ctx, spanKey{}, fmt.Sprintf("task-%d", t.ID)), err)
		}
		if err := s.Store.FinishTask(ctx, t.ID, failure, user); err != nil {
			s.Log.Error("the end of a task could not be stored", "task_id", t.ID, "workflow_id", t.WorkflowID, "error", err)
		}
	})
}

// barrier lets the first n callers wait for each other.
type barrier struct {
	mu      sync.Mutex
	missing int
	all     chan struct{}
}

// barrierWait is the longest that a caller waits for the others.
const barrierWait = 30 * time.Second

func newBarrier(n int) *barrier {
	return &barrier{missing: n, all: make(chan struct{})}
}

// wait returns when n callers have come, after barrierWait, or at the end of
// ctx; at once for all after the first n.
func (b *barrier) wait(ctx context.Context) {
	b.mu.Lock()
	if b.missing == 0 {
		b.mu.Unlock()
		return
	}
	if b.missing--; b.missing == 0 {
		close(b.all)
	}
	b.mu.Unlock()
	timer := time.NewTimer(barrierWait)
	defer timer.Stop()
	select {
	case <-b.all:
	case <-timer.C:
	case <-ctx.Done():
	}
}
