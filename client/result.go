package client

import (
	"context"
	"fmt"
	"iter"
	"net/http"

	"github.com/torc-slurm/torc-slurm/api"
)

// ResultFilter selects results; nil and empty fields do not filter.
type ResultFilter struct {
	Page
	WorkflowID    int64
	JobID         *int64
	RunID         *int64
	ReturnCode    *int64
	Status        string
	ComputeNodeID *int64
	AllRuns       bool // not only the current result of each job
	Attempts      bool // also attempts without a result, which have no id
}

// List lists the results of a workflow.
func (c Results) List(ctx context.Context, f ResultFilter) iter.Seq2[api.Result, error] {
	return pages[api.Result](ctx, c, "/results", f.Page, values("workflow_id", f.WorkflowID, "job_id", f.JobID, "run_id", f.RunID, "return_code", f.ReturnCode, "status", f.Status, "compute_node_id", f.ComputeNodeID, "all_runs", f.AllRuns, "attempts", f.Attempts))
}

// Get returns a result.
func (c Results) Get(ctx context.Context, id int64) (*api.Result, error) {
	return get[api.Result](ctx, c, "/results/%d", id)
}

// Create adds a result to a workflow; to add the same one again is no error.
func (c Results) Create(ctx context.Context, v *api.Result) (*api.Result, error) {
	return call[api.Result](repeatable(ctx), c, http.MethodPost, "/results", v)
}

// Delete removes a result and returns it.
func (c Results) Delete(ctx context.Context, id int64) (*api.Result, error) {
	return call[api.Result](ctx, c, http.MethodDelete, fmt.Sprintf("/results/%d", id), nil)
}
