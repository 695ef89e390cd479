package handler

import (
	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server/rest"
)

// runStarts handles requests for runs to start.
type runStarts struct{ *Deps }

func (h runStarts) routes() []rest.Route {
	return []rest.Route{
		rest.Handle("POST", "/workflows/{id}/start_run", "Start a run if jobs wait for one; a dry run only shows what would start, and which files must exist", h.startRun, rest.Conflict409),
	}
}

func (h runStarts) startRun(r *rest.Request[IDParams, api.StartRunRequest]) (api.RunStart, error) {
	return h.verbs().StartRun(r.Context(), by(r), r.Params.ID, &r.Body)
}
