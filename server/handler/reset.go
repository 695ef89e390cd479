package handler

import (
	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server/rest"
)

// resets handles requests of people for jobs to run again.
type resets struct{ *Deps }

func (h resets) routes() []rest.Route {
	return []rest.Route{
		rest.Handle("POST", "/workflows/{id}/reset", "Begin a new run whose jobs run again, all, those that did not succeed, or those whose inputs have changed; a dry run only says how many", h.resetWorkflow, rest.Conflict409, rest.Bulk),
		rest.Handle("POST", "/workflows/{id}/reset_jobs", "Make chosen jobs run again in the next run; a dry run only says which", h.resetJobs, rest.Conflict409, rest.Bulk),
	}
}

func (h resets) resetWorkflow(r *rest.Request[IDParams, api.ResetWorkflowRequest]) (api.WorkflowReset, error) {
	return h.verbs().ResetWorkflow(r.Context(), by(r), r.Params.ID, &r.Body)
}

func (h resets) resetJobs(r *rest.Request[IDParams, api.ResetJobsRequest]) (api.JobReset, error) {
	return h.verbs().ResetJobs(r.Context(), by(r), r.Params.ID, &r.Body)
}
