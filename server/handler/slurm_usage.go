package handler

import (
	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server/rest"
	"github.com/torc-slurm/torc-slurm/service"
)

// slurmUsages handles requests about the node and CPU time that a site charges.
type slurmUsages struct{ *Deps }

// routes has a POST although nothing changes: each call asks Slurm, and clients do not
// repeat a POST on their own.
func (h slurmUsages) routes() []rest.Route {
	return []rest.Route{
		rest.Handle("POST", "/workflows/{id}/slurm_usage", "Ask Slurm for the node and CPU time of a workflow's allocations", h.usage, rest.Conflict409),
		rest.Handle("POST", "/workflows/{id}/slurm_accounting", "Ask Slurm for the accounting records of a workflow's allocations and their steps", h.accounting, rest.Conflict409),
	}
}

func (h slurmUsages) usage(r *rest.Request[IDParams, rest.None]) (api.SlurmUsage, error) {
	return h.verbs().SlurmUsage(r.Context(), r.Params.ID)
}

func (h slurmUsages) accounting(r *rest.Request[IDParams, rest.None]) (api.SlurmAccounting, error) {
	return service.SlurmAccounting(r.Context(), h.verbs(), r.Params.ID)
}
