package client

import (
	"context"
	"fmt"
	"iter"
	"net/http"

	"github.com/torc-slurm/torc-slurm/api"
)

// SlurmSchedulerFilter selects the Slurm schedulers; nil and empty fields select nothing.
type SlurmSchedulerFilter struct {
	Page
	WorkflowID int64
}

// SlurmSchedulers lists the Slurm schedulers of a workflow.
func (c *Client) SlurmSchedulers(ctx context.Context, f SlurmSchedulerFilter) iter.Seq2[api.SlurmScheduler, error] {
	return pages[api.SlurmScheduler](ctx, c, "/slurm_schedulers", f.Page, values("workflow_id", f.WorkflowID))
}

// SlurmScheduler returns one of the Slurm schedulers.
func (c *Client) SlurmScheduler(ctx context.Context, id int64) (*api.SlurmScheduler, error) {
	return get[api.SlurmScheduler](ctx, c, "/slurm_schedulers/%d", id)
}

// CreateSlurmScheduler adds one to the Slurm schedulers of a workflow.
func (c *Client) CreateSlurmScheduler(ctx context.Context, v *api.SlurmScheduler) (*api.SlurmScheduler, error) {
	return call[api.SlurmScheduler](ctx, c, http.MethodPost, "/slurm_schedulers", v)
}

// UpdateSlurmScheduler changes one of the Slurm schedulers.
func (c *Client) UpdateSlurmScheduler(ctx context.Context, id int64, v *api.SlurmScheduler) (*api.SlurmScheduler, error) {
	return call[api.SlurmScheduler](ctx, c, http.MethodPut, fmt.Sprintf("/slurm_schedulers/%d", id), v)
}

// DeleteSlurmScheduler removes one of the Slurm schedulers and returns what it was.
func (c *Client) DeleteSlurmScheduler(ctx context.Context, id int64) (*api.SlurmScheduler, error) {
	return call[api.SlurmScheduler](ctx, c, http.MethodDelete, fmt.Sprintf("/slurm_schedulers/%d", id), nil)
}
