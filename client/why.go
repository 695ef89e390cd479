package client

import (
	"context"

	"github.com/torc-slurm/torc-slurm/api"
)

// JobAttempts lists all attempts of a job, by run and attempt.
func (c *Client) JobAttempts(ctx context.Context, jobID int64) ([]api.Attempt, error) {
	out, err := get[api.JobAttempts](ctx, c, "/jobs/%d/attempts", jobID)
	if err != nil {
		return nil, err
	}
	return out.Attempts, nil
}

// WhyJob explains why a job is where it is.
func (c *Client) WhyJob(ctx context.Context, jobID int64) (*api.Explanation, error) {
	return get[api.Explanation](ctx, c, "/jobs/%d/why", jobID)
}

// WhyWorkflow explains where a workflow stands.
func (c *Client) WhyWorkflow(ctx context.Context, workflowID int64) (*api.Explanation, error) {
	return get[api.Explanation](ctx, c, "/workflows/%d/why", workflowID)
}
