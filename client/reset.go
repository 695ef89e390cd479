package client

import (
	"context"
	"fmt"
	"net/http"

	"github.com/torc-slurm/torc-slurm/api"
)

// Reset begins a new run of a workflow whose jobs run again; a dry run says how many.
func (c Workflows) Reset(ctx context.Context, id int64, r *api.ResetWorkflowRequest) (*api.WorkflowReset, error) {
	if r.DryRun {
		ctx = repeatable(ctx)
	}
	return call[api.WorkflowReset](ctx, c, http.MethodPost, fmt.Sprintf("/workflows/%d/reset", id), r)
}

// ResetJobs makes jobs of a workflow run again in its next run; a dry run says which, and
// what depends on them.
func (c Workflows) ResetJobs(ctx context.Context, id int64, r *api.ResetJobsRequest) (*api.JobReset, error) {
	if r.DryRun {
		ctx = repeatable(ctx)
	}
	return call[api.JobReset](ctx, c, http.MethodPost, fmt.Sprintf("/workflows/%d/reset_jobs", id), r)
}
