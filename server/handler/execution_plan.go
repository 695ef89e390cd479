package handler

import (
	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server/rest"
)

// executionPlans handles requests about the order in which jobs become ready.
type executionPlans struct{ *Deps }

func (h executionPlans) routes() []rest.Route {
	return []rest.Route{
		rest.Handle("GET", "/workflows/{id}/execution_plan", "Get the order in which the jobs of a workflow become ready", h.plan),
	}
}

func (h executionPlans) plan(r *rest.Request[IDParams, rest.None]) (api.ExecutionPlan, error) {
	return h.verbs().ExecutionPlan(r.Context(), r.Params.ID)
}
