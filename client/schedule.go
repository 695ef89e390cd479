package client

import (
	"context"
	"fmt"
	"net/http"

	"github.com/torc-slurm/torc-slurm/api"
)

// Submit has the daemon ask Slurm for the allocations of the current
// run, from now until it ends. It may be repeated: what is asked for is what
// is missing.
func (c Workflows) Submit(ctx context.Context, workflowID int64, r *api.SubmitRequest) (*api.SchedulePlan, error) {
	return call[api.SchedulePlan](repeatable(ctx), c, http.MethodPost, fmt.Sprintf("/workflows/%d/submit", workflowID), r)
}

// Plan says what a submission would ask for; nothing is changed.
func (c Workflows) Plan(ctx context.Context, workflowID int64, r *api.SubmitRequest) (*api.SchedulePlan, error) {
	return call[api.SchedulePlan](repeatable(ctx), c, http.MethodPost, fmt.Sprintf("/workflows/%d/plan", workflowID), r)
}
