package client

import (
	"context"
	"iter"
	"net/http"

	"github.com/torc-slurm/torc-slurm/api"
)

// ComputeNodeFilter selects compute nodes; nil and empty fields do not filter.
type ComputeNodeFilter struct {
	Page
	WorkflowID             int64
	Hostname               string // a part of it, in any case
	IsActive               *bool
	ScheduledComputeNodeID *int64
}

// List lists the compute nodes of a workflow.
func (c ComputeNodes) List(ctx context.Context, f ComputeNodeFilter) iter.Seq2[api.ComputeNode, error] {
	return pages[api.ComputeNode](ctx, c, "/compute_nodes", f.Page, values("workflow_id", f.WorkflowID, "hostname", f.Hostname, "is_active", f.IsActive, "scheduled_compute_node_id", f.ScheduledComputeNodeID))
}

// Get returns a compute node.
func (c ComputeNodes) Get(ctx context.Context, id int64) (*api.ComputeNode, error) {
	return get[api.ComputeNode](ctx, c, "/compute_nodes/%d", id)
}

// Create adds a runner to a workflow.
func (c ComputeNodes) Create(ctx context.Context, v *api.ComputeNode) (*api.ComputeNode, error) {
	return call[api.ComputeNode](ctx, c, http.MethodPost, "/compute_nodes", v)
}
