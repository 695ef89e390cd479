package client

import (
	"context"

	"github.com/torc-slurm/torc-slurm/api"
)

// Diagnosis compares the remaining time of a workflow's runners with the runtimes of its
// ready jobs.
func (c Workflows) Diagnosis(ctx context.Context, workflowID int64) (*api.Diagnosis, error) {
	return get[api.Diagnosis](ctx, c, "/workflows/%d/diagnosis", workflowID)
}
