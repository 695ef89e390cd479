package handler

import (
	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server/rest"
	"github.com/torc-slurm/torc-slurm/service"
	"github.com/torc-slurm/torc-slurm/workflow/operate"
)

// jobOperations handles requests of people about jobs: retry, cancel, hold, release and
// prioritize.
type jobOperations struct{ *Deps }

func (h jobOperations) routes() []rest.Route {
	return []rest.Route{
		rest.Handle("POST", "/jobs/{id}/retry", "Give a job that did not succeed another attempt; a dry run only says which", h.retry, rest.Conflict409),
		rest.Handle("POST", "/jobs/{id}/cancel", "Cancel a job; its runner ends it if it runs", h.cancelJob, rest.Conflict409),
		rest.Handle("POST", "/workflows/{id}/cancel_jobs", "Cancel chosen jobs; runners end those that run. A job that cannot be canceled is rejected by itself", h.operate(operate.Cancel), rest.Bulk, rest.Conflict409),
		rest.Handle("POST", "/workflows/{id}/hold_jobs", "Keep chosen jobs from being claimed until they are released", h.operate(operate.Hold), rest.Bulk, rest.Conflict409),
		rest.Handle("POST", "/workflows/{id}/release_jobs", "Release jobs that users hold", h.operate(operate.Release), rest.Bulk, rest.Conflict409),
		rest.Handle("POST", "/workflows/{id}/prioritize_jobs", "Change the priority of chosen jobs", h.prioritize, rest.Bulk, rest.Conflict409),
	}
}

func (h jobOperations) retry(r *rest.Request[IDParams, api.RetryJobRequest]) (api.JobRetry, error) {
	return h.verbs().RetryJob(r.Context(), by(r), r.Params.ID, &r.Body)
}

func (h jobOperations) operate(verb operate.Verb) func(*rest.Request[IDParams, api.JobOperation]) (api.JobsOperated, error) {
	return func(r *rest.Request[IDParams, api.JobOperation]) (api.JobsOperated, error) {
		return service.OperateJobs(r.Context(), h.verbs(), by(r), r.Params.ID, verb, &api.JobPrioritization{JobOperation: r.Body})
	}
}

func (h jobOperations) prioritize(r *rest.Request[IDParams, api.JobPrioritization]) (api.JobsOperated, error) {
	return service.OperateJobs(r.Context(), h.verbs(), by(r), r.Params.ID, operate.Prioritize, &r.Body)
}

func (h jobOperations) cancelJob(r *rest.Request[IDParams, api.JobCancellation]) (api.JobsOperated, error) {
	return service.CancelJob(r.Context(), h.verbs(), by(r), r.Params.ID, &r.Body)
}
