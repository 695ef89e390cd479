package client

import (
	"context"
	"fmt"
	"net/http"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
)

// ReleaseClaims removes the claim holds of a workflow, or only those of a kind, and returns
// their number.
func (c Workflows) ReleaseClaims(ctx context.Context, workflowID int64, kind hold.ClaimHoldKind) (int64, error) {
	out, err := call[api.ClaimsReleased](ctx, c, http.MethodPost, fmt.Sprintf("/workflows/%d/release_claims", workflowID), &api.ClaimRelease{Kind: kind})
	if err != nil {
		return 0, err
	}
	return out.Released, nil
}
