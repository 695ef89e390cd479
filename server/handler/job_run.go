package handler

import (
	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server/rest"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// jobRuns handles requests about single attempts of jobs.
type jobRuns struct{ *Deps }

func (h jobRuns) routes() []rest.Route {
	return []rest.Route{
		rest.Handle("PUT", "/jobs/{id}/manage_status_change/{status}/{run_id}", "Change a job's status by hand", h.manageStatusChange),
		rest.Handle("POST", "/jobs/{id}/retry/{run_id}", "Make a job ready for another attempt", h.retryJob),
	}
}

type statusParams struct {
	IDParams
	Status workflow.JobStatus `path:"status"`
	RunID  int64              `path:"run_id"`
}

func (h jobRuns) manageStatusChange(r *rest.Request[statusParams, rest.None]) (api.Job, error) {
	j, err := h.Store.Jobs.ManageStatusChange(r.Context(), r.Params.ID, r.Params.Status, r.Params.RunID)
	return api.FromJob(j), err
}

type retryParams struct {
	IDParams
	RunID      int64 `path:"run_id"`
	MaxRetries int32 `query:"max_retries" doc:"rejected if the job has had this many attempts"`
	NewTotal   *bool `query:"new_total" doc:"a person decides: timeouts.total starts again; without it the retry is rejected once that time is over"`
}

func (h jobRuns) retryJob(r *rest.Request[retryParams, rest.None]) (api.Job, error) {
	retry := h.Store.Jobs.Retry
	if Or(r.Params.NewTotal, false) {
		retry = h.Store.Jobs.RetryAnew
	}
	j, err := retry(r.Context(), r.Params.ID, r.Params.RunID, int64(r.Params.MaxRetries))
	return api.FromJob(j), err
}
