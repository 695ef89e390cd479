package client

import (
	"context"
	"fmt"
	"net/http"

	"github.com/torc-slurm/torc-slurm/api"
)

// Submit makes the daemon request allocations from Slurm until the current run ends. It may
// be repeated: only missing allocations are requested.
func (c Workflows) Submit(ctx context.Context, workflowID int64, r *api.SubmitRequest) (*api.SchedulePlan, error) {
	return call[api.SchedulePlan](repeatable(ctx), c, http.MethodPost, fmt.Sprintf("/workflows/%d/submit", workflowID), r)
}

// Plan returns what Submit would request, and changes nothing.
func (c Workflows) Plan(ctx context.Context, workflowID int64, r *api.SubmitRequest) (*api.SchedulePlan, error) {
	return call[api.SchedulePlan](repeatable(ctx), c, http.MethodPost, fmt.Sprintf("/workflows/%d/plan", workflowID), r)
}
