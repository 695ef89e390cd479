package torc

import (
	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server/handler"
	"github.com/torc-slurm/torc-slurm/server/rest"
)

// slurmStats handles the accounting records that torc's runners send; our own runners
// send the steps of many attempts at once.
type slurmStats struct{ *handler.Deps }

func (h slurmStats) routes() []rest.Route {
	return []rest.Route{
		rest.Handle("POST", "/slurm_stats", "Store Slurm's accounting record of an attempt; a later one replaces it", h.putSlurmStats),
	}
}

func (h slurmStats) putSlurmStats(r *rest.Request[rest.None, api.SlurmStats]) (api.SlurmStats, error) {
	t, err := h.Store.SlurmStats.Put(r.Context(), handler.ToSlurmStats(r.Body))
	return handler.FromSlurmStats(t), err
}
