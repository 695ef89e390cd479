package client

import (
	"context"
	"fmt"
	"net/http"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// List lists the circuit breakers that are open, or all that ever were: of a
// workflow and those for the nodes of all, or of everything if the id is 0.
func (c Breakers) List(ctx context.Context, workflowID int64, all bool) ([]workflow.BreakerTrip, error) {
	path := fmt.Sprintf("/breakers?all=%t", all)
	if workflowID != 0 {
		path += fmt.Sprintf("&workflow_id=%d", workflowID)
	}
	out, err := call[api.BreakerList](ctx, c, http.MethodGet, path, nil)
	if err != nil {
		return nil, err
	}
	return out.Breakers, nil
}

// Reset closes open circuit breakers, and returns them.
func (c Breakers) Reset(ctx context.Context, which *api.BreakerReset) ([]workflow.BreakerTrip, error) {
	out, err := call[api.BreakerList](ctx, c, http.MethodPost, "/breakers/reset", which)
	if err != nil {
		return nil, err
	}
	return out.Breakers, nil
}
