package handler

import (
	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server/rest"
	"github.com/torc-slurm/torc-slurm/service"
)

// efficiencies handles requests about what the jobs of workflows requested and used.
type efficiencies struct{ *Deps }

func (h efficiencies) routes() []rest.Route {
	return []rest.Route{
		rest.Handle("GET", "/workflows/{id}/efficiency", "Compare what families of jobs used with what they requested, and name wasted core-hours by cause", h.efficiency),
	}
}

type efficiencyParams struct {
	IDParams
	RunID *int64 `query:"run_id" doc:"of this run; without it, of all runs"`
}

func (h efficiencies) efficiency(r *rest.Request[efficiencyParams, rest.None]) (api.Efficiency, error) {
	return service.Reports{Service: h.verbs()}.Efficiency(r.Context(), r.Params.ID, r.Params.RunID)
}
