package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// PlanAllocations returns which allocations suit the jobs of a workflow that have not
// begun, and what they cost. Unless the request is offline, each call asks Slurm.
func (c Workflows) PlanAllocations(ctx context.Context, workflowID int64, r *api.AllocationPlanRequest) (*api.AllocationPlan, error) {
	return call[api.AllocationPlan](ctx, c, http.MethodPost, fmt.Sprintf("/workflows/%d/allocation_plan", workflowID), r)
}

// PlanDefinition returns the same for the jobs of a definition, which is not created.
func (c Workflows) PlanDefinition(ctx context.Context, d *workflow.Definition, r *api.AllocationPlanRequest) (*api.AllocationPlan, error) {
	out := new(api.AllocationPlan)
	err := postLines(ctx, c, "/workflows/definition/allocation_plan", out, func(w io.Writer) error {
		if err := json.NewEncoder(w).Encode(r); err != nil {
			return fmt.Errorf("write the request of a plan: %w", err)
		}
		return api.WriteDefinition(w, d, "")
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}
