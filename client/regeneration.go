package client

import (
	"context"
	"fmt"
	"net/http"

	"github.com/torc-slurm/torc-slurm/api"
)

// Regenerate creates Slurm schedulers for the jobs of a workflow that have not started; a
// dry run only returns them.
func (c Workflows) Regenerate(ctx context.Context, workflowID int64, r *api.RegenerateRequest) (*api.Regeneration, error) {
	if r.DryRun {
		ctx = repeatable(ctx)
	}
	return call[api.Regeneration](ctx, c, http.MethodPost, fmt.Sprintf("/workflows/%d/regenerate", workflowID), r)
}
