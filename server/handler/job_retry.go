package handler

import (
	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server/rest"
)

// jobRetries handles requests of people for other attempts of jobs.
type jobRetries struct{ *Deps }

func (h jobRetries) routes() []rest.Route {
	return []rest.Route{
		rest.Handle("POST", "/jobs/{id}/retry", "Give a job that did not succeed another attempt; a dry run only says which", h.retry, rest.Conflict409),
	}
}

func (h jobRetries) retry(r *rest.Request[IDParams, api.RetryJobRequest]) (api.JobRetry, error) {
	return h.verbs().RetryJob(r.Context(), by(r), r.Params.ID, &r.Body)
}
