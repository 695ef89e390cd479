package handler

import (
	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server/rest"
)

// regenerations handles requests about Slurm schedulers for the remaining jobs of workflows.
type regenerations struct{ *Deps }

func (h regenerations) routes() []rest.Route {
	return []rest.Route{
		rest.Handle("POST", "/workflows/{id}/regenerate", "Create Slurm schedulers for the jobs that have not started; a dry run only shows them and their cost", h.regenerate, rest.Conflict409, rest.Bulk),
	}
}

func (h regenerations) regenerate(r *rest.Request[IDParams, api.RegenerateRequest]) (api.Regeneration, error) {
	return h.verbs().Regenerate(r.Context(), by(r), r.Params.ID, &r.Body)
}
