package client

import (
	"context"

	"github.com/torc-slurm/torc-slurm/api"
)

// Diagnosis compares what the runners of a workflow have left with how long its ready
// jobs run.
func (c Workflows) Diagnosis(ctx context.Context, workflowID int64) (*api.Diagnosis, error) {
	return get[api.Diagnosis](ctx, c, "/workflows/%d/diagnosis", workflowID)
}
