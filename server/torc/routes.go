// Package torc implements the operations that only torc clients call: their claims,
// local schedulers and remote workers, and the accounting records that they send.
package torc

import (
	"slices"

	"github.com/torc-slurm/torc-slurm/server/handler"
	"github.com/torc-slurm/torc-slurm/server/rest"
)

// Routes returns the table of what only torc clients call.
func Routes(d *handler.Deps) []rest.Route {
	return slices.Concat(
		claims{d}.routes(),
		localSchedulers{d}.routes(),
		remoteWorkers{d}.routes(),
		slurmStats{d}.routes(),
	)
}
