package client

import (
	"context"
	"fmt"
	"iter"
	"net/http"

	"github.com/torc-slurm/torc-slurm/api"
)

// SlurmSchedulerFilter selects Slurm schedulers; nil and empty fields do not filter.
type SlurmSchedulerFilter struct {
	Page
	WorkflowID int64
}

// List lists the Slurm schedulers of a workflow.
func (c SlurmSchedulers) List(ctx context.Context, f SlurmSchedulerFilter) iter.Seq2[api.SlurmScheduler, error] {
	return pages[api.SlurmScheduler](ctx, c, "/slurm_schedulers", f.Page, values("workflow_id", f.WorkflowID))
}

// Get returns a Slurm scheduler.
func (c SlurmSchedulers) Get(ctx context.Context, id int64) (*api.SlurmScheduler, error) {
	return get[api.SlurmScheduler](ctx, c, "/slurm_schedulers/%d", id)
}

// Create adds a Slurm scheduler to a workflow and returns it with its id.
func (c SlurmSchedulers) Create(ctx context.Context, v *api.SlurmScheduler) (*api.SlurmScheduler, error) {
	return call[api.SlurmScheduler](ctx, c, http.MethodPost, "/slurm_schedulers", v)
}

// Update changes a Slurm scheduler and returns it.
func (c SlurmSchedulers) Update(ctx context.Context, id int64, v *api.SlurmScheduler) (*api.SlurmScheduler, error) {
	return call[api.SlurmScheduler](ctx, c, http.MethodPut, fmt.Sprintf("/slurm_schedulers/%d", id), v)
}

// Delete removes a Slurm scheduler and returns it.
func (c SlurmSchedulers) Delete(ctx context.Context, id int64) (*api.SlurmScheduler, error) {
	return call[api.SlurmScheduler](ctx, c, http.MethodDelete, fmt.Sprintf("/slurm_schedulers/%d", id), nil)
}
