package client

import (
	"context"

	"github.com/torc-slurm/torc-slurm/api"
)

// ExecutionPlan returns the order in which the jobs of a workflow become ready.
func (c Workflows) ExecutionPlan(ctx context.Context, workflowID int64) (*api.ExecutionPlan, error) {
	return get[api.ExecutionPlan](ctx, c, "/workflows/%d/execution_plan", workflowID)
}
