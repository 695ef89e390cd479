package client

import (
	"context"
	"fmt"
	"net/http"

	"github.com/torc-slurm/torc-slurm/api"
)

// SlurmUsage asks Slurm for how long the allocations of a workflow had nodes and CPUs.
func (c Workflows) SlurmUsage(ctx context.Context, workflowID int64) (*api.SlurmUsage, error) {
	return call[api.SlurmUsage](ctx, c, http.MethodPost, fmt.Sprintf("/workflows/%d/slurm_usage", workflowID), nil)
}
