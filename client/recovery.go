package client

import (
	"context"
	"fmt"
	"net/http"

	"github.com/torc-slurm/torc-slurm/api"
)

// Recover retries the failed jobs of a workflow with corrected resource requirements; a dry
// run only returns the plan.
func (c Workflows) Recover(ctx context.Context, workflowID int64, r *api.RecoverRequest) (*api.RecoveryPlan, error) {
	if r.DryRun {
		ctx = repeatable(ctx)
	}
	return call[api.RecoveryPlan](ctx, c, http.MethodPost, fmt.Sprintf("/workflows/%d/recover", workflowID), r)
}
