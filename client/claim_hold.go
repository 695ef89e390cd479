package client

import (
	"context"
	"fmt"
	"net/http"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
)

// ReleaseClaims lifts what holds the claims of a workflow, or only the reasons of
// a kind, and returns how many there were.
func (c Workflows) ReleaseClaims(ctx context.Context, workflowID int64, kind hold.ClaimHoldKind) (int64, error) {
	out, err := call[api.ClaimsReleased](ctx, c, http.MethodPost, fmt.Sprintf("/workflows/%d/release_claims", workflowID), &api.ClaimRelease{Kind: kind})
	if err != nil {
		return 0, err
	}
	return out.Released, nil
}
