package handler

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server/rest"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// tasks handles requests about background tasks.
type tasks struct{ *Deps }

func (h tasks) routes() []rest.Route {
	return []rest.Route{
		rest.Handle("GET", "/tasks/{id}", "Get a background task", ByID(h.Store.Tasks.Get, same)),
		rest.Handle("GET", "/workflows/{id}/active_task", "Get the queued or running task of a workflow", h.getActiveTask),
	}
}

func (h tasks) getActiveTask(r *rest.Request[IDParams, rest.None]) (api.ActiveTask, error) {
	t, err := h.Store.Tasks.Active(r.Context(), r.Params.ID)
	return api.ActiveTask{Task: t}, err
}

// runTask does the work of a queued task in the background; Close waits for it. The
// work does not end with the request that started it.
func (d *Deps) runTask(t workflow.Task, user string, work func(context.Context) error) {
	d.Background(func() {
		ctx := context.Background()
		if err := d.Store.Tasks.Start(ctx, t.ID); err != nil {
			d.Log.Error("a task could not be started", "task_id", t.ID, "workflow_id", t.WorkflowID, "error", err)
			return
		}
		failure := ""
		if err := work(ctx); err != nil {
			failure = rest.ErrorText(rest.WithSpan(ctx, fmt.Sprintf("task-%d", t.ID)), d.Log, err)
		}
		if err := d.Store.Tasks.Finish(ctx, t.ID, failure, user); err != nil {
			d.Log.Error("the end of a task could not be stored", "task_id", t.ID, "workflow_id", t.WorkflowID, "error", err)
		}
	})
}

// Barrier lets the first n callers wait for each other.
type Barrier struct {
	mu      sync.Mutex
	missing int
	all     chan struct{}
}

// barrierWait is the longest that a caller waits for the others.
const barrierWait = 30 * time.Second

// NewBarrier returns a barrier for the first n callers.
func NewBarrier(n int) *Barrier {
	return &Barrier{missing: n, all: make(chan struct{})}
}

// wait returns when n callers wait, after barrierWait, or at the end of ctx. Callers
// after the first n do not wait.
func (b *Barrier) wait(ctx context.Context) {
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
