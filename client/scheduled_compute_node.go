package client

import (
	"context"
	"fmt"
	"iter"
	"net/http"

	"github.com/torc-slurm/torc-slurm/api"
)

// ScheduledComputeNodeFilter selects scheduled compute nodes, which are requested
// allocations; nil and empty fields do not filter.
type ScheduledComputeNodeFilter struct {
	Page
	WorkflowID        int64
	SchedulerID       string // the Slurm job id
	SchedulerConfigID string
	Status            string
}

// List lists the scheduled compute nodes of a workflow.
func (c ScheduledComputeNodes) List(ctx context.Context, f ScheduledComputeNodeFilter) iter.Seq2[api.ScheduledComputeNode, error] {
	return pages[api.ScheduledComputeNode](ctx, c, "/scheduled_compute_nodes", f.Page, values("workflow_id", f.WorkflowID, "scheduler_id", f.SchedulerID, "scheduler_config_id", f.SchedulerConfigID, "status", f.Status))
}

// Get returns a scheduled compute node.
func (c ScheduledComputeNodes) Get(ctx context.Context, id int64) (*api.ScheduledComputeNode, error) {
	return get[api.ScheduledComputeNode](ctx, c, "/scheduled_compute_nodes/%d", id)
}

// Update changes a scheduled compute node.
func (c ScheduledComputeNodes) Update(ctx context.Context, n *api.ScheduledComputeNode) error {
	_, err := call[api.ScheduledComputeNode](ctx, c, http.MethodPut, fmt.Sprintf("/scheduled_compute_nodes/%d", *n.ID), n)
	return err
}
