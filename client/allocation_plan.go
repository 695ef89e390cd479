package client

import (
	"context"
	"fmt"
	"net/http"

	"github.com/torc-slurm/torc-slurm/api"
)

// PlanAllocations returns which allocations suit the jobs of a workflow that have not
// begun, and what they cost. Unless the request is offline, each call asks Slurm.
func (c Workflows) PlanAllocations(ctx context.Context, workflowID int64, r *api.AllocationPlanRequest) (*api.AllocationPlan, error) {
	return call[api.AllocationPlan](ctx, c, http.MethodPost, fmt.Sprintf("/workflows/%d/allocation_plan", workflowID), r)
}
