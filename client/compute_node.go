package client

import (
	"context"
	"fmt"
	"iter"
	"net/http"

	"github.com/torc-slurm/torc-slurm/api"
)

// ComputeNodeFilter selects the compute nodes; nil and empty fields select nothing.
type ComputeNodeFilter struct {
	Page
	WorkflowID             int64
	Hostname               string // a part of it, in any case
	IsActive               *bool
	ScheduledComputeNodeID *int64
}

// ComputeNodes lists the compute nodes of a workflow.
func (c *Client) ComputeNodes(ctx context.Context, f ComputeNodeFilter) iter.Seq2[api.ComputeNode, error] {
	return pages[api.ComputeNode](ctx, c, "/compute_nodes", f.Page, values("workflow_id", f.WorkflowID, "hostname", f.Hostname, "is_active", f.IsActive, "scheduled_compute_node_id", f.ScheduledComputeNodeID))
}

// ComputeNode returns one of the compute nodes.
func (c *Client) ComputeNode(ctx context.Context, id int64) (*api.ComputeNode, error) {
	return get[api.ComputeNode](ctx, c, "/compute_nodes/%d", id)
}

// CreateComputeNode adds a runner to a workflow.
func (c *Client) CreateComputeNode(ctx context.Context, v *api.ComputeNode) (*api.ComputeNode, error) {
	return call[api.ComputeNode](ctx, c, http.MethodPost, "/compute_nodes", v)
}

// DeleteComputeNode removes one of the compute nodes and returns what it was.
func (c *Client) DeleteComputeNode(ctx context.Context, id int64) (*api.ComputeNode, error) {
	return call[api.ComputeNode](ctx, c, http.MethodDelete, fmt.Sprintf("/compute_nodes/%d", id), nil)
}
