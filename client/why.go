package client

import (
	"context"

	"github.com/torc-slurm/torc-slurm/api"
)

// Attempts lists all attempts of a job, sorted by run and attempt.
func (c Jobs) Attempts(ctx context.Context, jobID int64) ([]api.Attempt, error) {
	out, err := get[api.JobAttempts](ctx, c, "/jobs/%d/attempts", jobID)
	if err != nil {
		return nil, err
	}
	return out.Attempts, nil
}

// Why explains the status of a job.
func (c Jobs) Why(ctx context.Context, jobID int64) (*api.Explanation, error) {
	return get[api.Explanation](ctx, c, "/jobs/%d/why", jobID)
}

// Why explains the status of a workflow.
func (c Workflows) Why(ctx context.Context, workflowID int64) (*api.Explanation, error) {
	return get[api.Explanation](ctx, c, "/workflows/%d/why", workflowID)
}
