package server

import (
	"slices"

	"github.com/torc-slurm/torc-slurm/server/handler"
	"github.com/torc-slurm/torc-slurm/server/rest"
	"github.com/torc-slurm/torc-slurm/server/torc"
)

// allRoutes is the table of the whole API.
func allRoutes(d *handler.Deps) []rest.Route {
	return slices.Concat(handler.Routes(d), torc.Routes(d))
}
