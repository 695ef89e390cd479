package client

import (
	"context"
	"fmt"
	"iter"
	"net/http"

	"github.com/torc-slurm/torc-slurm/api"
)

// ScheduledComputeNodeFilter selects the allocations that were asked for; nil and empty fields select nothing.
type ScheduledComputeNodeFilter struct {
	Page
	WorkflowID        int64
	SchedulerID       string // the Slurm job id
	SchedulerConfigID string
	Status            string
}

// List lists the allocations that were asked for of a workflow.
func (c ScheduledComputeNodes) List(ctx context.Context, f ScheduledComputeNodeFilter) iter.Seq2[api.ScheduledComputeNode, error] {
	return pages[api.ScheduledComputeNode](ctx, c, "/scheduled_compute_nodes", f.Page, values("workflow_id", f.WorkflowID, "scheduler_id", f.SchedulerID, "scheduler_config_id", f.SchedulerConfigID, "status", f.Status))
}

// Get returns one of the allocations that were asked for.
func (c ScheduledComputeNodes) Get(ctx context.Context, id int64) (*api.ScheduledComputeNode, error) {
	return get[api.ScheduledComputeNode](ctx, c, "/scheduled_compute_nodes/%d", id)
}

// Update changes one of the allocations that were asked for.
func (c ScheduledComputeNodes) Update(ctx context.Context, n *api.ScheduledComputeNode) error {
	_, err := call[api.ScheduledComputeNode](ctx, c, http.MethodPut, fmt.Sprintf("/scheduled_compute_nodes/%d", *n.ID), n)
	return err
}
