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

// ScheduledComputeNodes lists the allocations that were asked for of a workflow.
func (c *Client) ScheduledComputeNodes(ctx context.Context, f ScheduledComputeNodeFilter) iter.Seq2[api.ScheduledComputeNode, error] {
	return pages[api.ScheduledComputeNode](ctx, c, "/scheduled_compute_nodes", f.Page, values("workflow_id", f.WorkflowID, "scheduler_id", f.SchedulerID, "scheduler_config_id", f.SchedulerConfigID, "status", f.Status))
}

// ScheduledComputeNode returns one of the allocations that were asked for.
func (c *Client) ScheduledComputeNode(ctx context.Context, id int64) (*api.ScheduledComputeNode, error) {
	return get[api.ScheduledComputeNode](ctx, c, "/scheduled_compute_nodes/%d", id)
}

// DeleteScheduledComputeNode removes one of the allocations that were asked for and returns what it was.
func (c *Client) DeleteScheduledComputeNode(ctx context.Context, id int64) (*api.ScheduledComputeNode, error) {
	return call[api.ScheduledComputeNode](ctx, c, http.MethodDelete, fmt.Sprintf("/scheduled_compute_nodes/%d", id), nil)
}

// UpdateScheduledComputeNode changes one of the allocations that were asked for.
func (c *Client) UpdateScheduledComputeNode(ctx context.Context, n *api.ScheduledComputeNode) error {
	_, err := call[api.ScheduledComputeNode](ctx, c, http.MethodPut, fmt.Sprintf("/scheduled_compute_nodes/%d", *n.ID), n)
	return err
}
