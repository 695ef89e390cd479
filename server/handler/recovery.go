package handler

import (
	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server/rest"
)

// recoveries handles requests about recoveries of workflows.
type recoveries struct{ *Deps }

func (h recoveries) routes() []rest.Route {
	return []rest.Route{
		rest.Handle("POST", "/workflows/{id}/recover", "Rerun the failed jobs of a workflow with the resources they lacked; a dry run only shows the changes", h.recover, rest.Conflict409, rest.Bulk),
	}
}

func (h recoveries) recover(r *rest.Request[IDParams, api.RecoverRequest]) (api.RecoveryPlan, error) {
	return h.verbs().Recover(r.Context(), by(r), r.Params.ID, &r.Body)
}
