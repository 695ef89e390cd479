package client

import (
	"context"
	"fmt"
	"net/http"

	"github.com/torc-slurm/torc-slurm/api"
)

// Recover repeats the failed jobs of a workflow with what they lacked; a dry run proposes
// how.
func (c Workflows) Recover(ctx context.Context, workflowID int64, r *api.RecoverRequest) (*api.RecoveryPlan, error) {
	if r.DryRun {
		ctx = repeatable(ctx)
	}
	return call[api.RecoveryPlan](ctx, c, http.MethodPost, fmt.Sprintf("/workflows/%d/recover", workflowID), r)
}
