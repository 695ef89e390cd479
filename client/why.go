package client

import (
	"context"

	"github.com/torc-slurm/torc-slurm/api"
)

// Attempts lists all attempts of a job, by run and attempt.
func (c Jobs) Attempts(ctx context.Context, jobID int64) ([]api.Attempt, error) {
	out, err := get[api.JobAttempts](ctx, c, "/jobs/%d/attempts", jobID)
	if err != nil {
		return nil, err
	}
	return out.Attempts, nil
}

// Why explains why a job is where it is.
func (c Jobs) Why(ctx context.Context, jobID int64) (*api.Explanation, error) {
	return get[api.Explanation](ctx, c, "/jobs/%d/why", jobID)
}

// Why explains where a workflow stands.
func (c Workflows) Why(ctx context.Context, workflowID int64) (*api.Explanation, error) {
	return get[api.Explanation](ctx, c, "/workflows/%d/why", workflowID)
}
