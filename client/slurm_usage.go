package client

import (
	"context"
	"fmt"
	"net/http"

	"github.com/torc-slurm/torc-slurm/api"
)

// SlurmUsage returns the node hours and CPU hours of a workflow's allocations, from Slurm's
// accounting.
func (c Workflows) SlurmUsage(ctx context.Context, workflowID int64) (*api.SlurmUsage, error) {
	return call[api.SlurmUsage](ctx, c, http.MethodPost, fmt.Sprintf("/workflows/%d/slurm_usage", workflowID), nil)
}

// SlurmAccounting returns Slurm's accounting records of a workflow's allocations. Each call
// asks Slurm.
func (c Workflows) SlurmAccounting(ctx context.Context, workflowID int64) (*api.SlurmAccounting, error) {
	return call[api.SlurmAccounting](ctx, c, http.MethodPost, fmt.Sprintf("/workflows/%d/slurm_accounting", workflowID), nil)
}
