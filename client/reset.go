package client

import (
	"context"
	"fmt"
	"net/http"

	"github.com/torc-slurm/torc-slurm/api"
)

// Reset begins a new run of a workflow; a dry run only returns how many jobs would run.
func (c Workflows) Reset(ctx context.Context, id int64, r *api.ResetWorkflowRequest) (*api.WorkflowReset, error) {
	if r.DryRun {
		ctx = repeatable(ctx)
	}
	return call[api.WorkflowReset](ctx, c, http.MethodPost, fmt.Sprintf("/workflows/%d/reset", id), r)
}

// ResetJobs resets jobs of a workflow and the jobs that depend on them, so that they run in
// its next run; a dry run only returns which.
func (c Workflows) ResetJobs(ctx context.Context, id int64, r *api.ResetJobsRequest) (*api.JobReset, error) {
	if r.DryRun {
		ctx = repeatable(ctx)
	}
	return call[api.JobReset](ctx, c, http.MethodPost, fmt.Sprintf("/workflows/%d/reset_jobs", id), r)
}
