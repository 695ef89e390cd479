package handler

import (
	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server/rest"
)

// allocationPlans handles requests about the allocations that suit the jobs of workflows.
type allocationPlans struct{ *Deps }

// routes has a POST although nothing changes: each call asks Slurm, and clients do not
// repeat a POST on their own.
func (h allocationPlans) routes() []rest.Route {
	return []rest.Route{
		rest.Handle("POST", "/workflows/{id}/allocation_plan", "Show which allocations suit the jobs that have not started, why, and what they cost; Slurm is asked how busy it is", h.plan, rest.Conflict409),
	}
}

func (h allocationPlans) plan(r *rest.Request[IDParams, api.AllocationPlanRequest]) (api.AllocationPlan, error) {
	return h.verbs().PlanAllocations(r.Context(), r.Params.ID, &r.Body)
}
