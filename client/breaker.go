package client

import (
	"context"
	"fmt"
	"net/http"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// List lists the open circuit breakers, or with all also those that have closed: the ones
// of a workflow and of nodes, or all if the id is 0.
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

// Reset closes open circuit breakers and returns them.
func (c Breakers) Reset(ctx context.Context, which *api.BreakerReset) ([]workflow.BreakerTrip, error) {
	out, err := call[api.BreakerList](ctx, c, http.MethodPost, "/breakers/reset", which)
	if err != nil {
		return nil, err
	}
	return out.Breakers, nil
}
