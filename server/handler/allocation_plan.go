package handler

import (
	"context"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server/rest"
	"github.com/torc-slurm/torc-slurm/service"
	"github.com/torc-slurm/torc-slurm/store"
)

// allocationPlans handles requests about the allocations that suit the jobs of workflows.
type allocationPlans struct{ *Deps }

// routes has POSTs although nothing changes: each call asks Slurm, and clients do not
// repeat a POST on their own.
func (h allocationPlans) routes() []rest.Route {
	return []rest.Route{
		rest.Handle("POST", "/workflows/{id}/allocation_plan", "Show which allocations suit the jobs that have not started, why, and what they cost; Slurm is asked how busy it is", h.plan, rest.Conflict409),
		rest.Handle("POST", "/workflows/definition/allocation_plan", "Show the same for the jobs of a definition, which is not created: a line with the request, then those of the definition", h.planDefinition, rest.Conflict409,
			rest.Streamed(DefinitionMedia, api.AllocationPlanRequest{})),
	}
}

func (h allocationPlans) plan(r *rest.Request[IDParams, api.AllocationPlanRequest]) (api.AllocationPlan, error) {
	return h.verbs().PlanAllocations(r.Context(), r.Params.ID, &r.Body)
}

func (h allocationPlans) planDefinition(r *rest.Request[rest.None, rest.None]) (api.AllocationPlan, error) {
	lines, err := streamedDefinition(r.Request)
	if err != nil {
		return api.AllocationPlan{}, err
	}
	var q api.AllocationPlanRequest
	if err := lines.decode(&q); err != nil {
		return api.AllocationPlan{}, err
	}
	return service.PlanDefinition(r.Context(), h.verbs(), &q, func(ctx context.Context, scratch *store.Store) (id int64, err error) {
		d, err := lines.begin(ctx, scratch, nil)
		if err != nil {
			return 0, err
		}
		err = lines.finish(d, func(jobs, files int64) (err error) {
			id, err = d.Finish(ctx, jobs, files)
			return err
		})
		return id, err
	})
}
