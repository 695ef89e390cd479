package client

import (
	"context"
	"fmt"
	"net/http"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
)

// ReleaseClaims removes the claim holds of a workflow, or only those of a kind, and returns
// them.
func (c Workflows) ReleaseClaims(ctx context.Context, workflowID int64, kind hold.ClaimHoldKind) (*api.ClaimsReleased, error) {
	return call[api.ClaimsReleased](ctx, c, http.MethodPost, fmt.Sprintf("/workflows/%d/release_claims", workflowID), &api.ClaimRelease{Kind: kind})
}

// Pause stops new claims of a workflow until they are released, or, in a dry run, returns
// what that would stop.
func (c Workflows) Pause(ctx context.Context, workflowID int64, q *api.PauseRequest) (*api.PauseOutcome, error) {
	return call[api.PauseOutcome](repeatable(ctx), c, http.MethodPost, fmt.Sprintf("/workflows/%d/pause", workflowID), q)
}
