package handler

import (
	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server/rest"
)

// diagnoses handles requests about diagnoses of workflows.
type diagnoses struct{ *Deps }

func (h diagnoses) routes() []rest.Route {
	return []rest.Route{
		rest.Handle("GET", "/workflows/{id}/diagnosis", "Compare the remaining time of runners with the runtimes of ready jobs", h.diagnose),
	}
}

func (h diagnoses) diagnose(r *rest.Request[IDParams, rest.None]) (api.Diagnosis, error) {
	return h.verbs().Diagnose(r.Context(), r.Params.ID)
}
