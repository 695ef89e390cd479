package handler

import (
	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server/rest"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

// compensations handles requests about compensations.
type compensations struct{ *Deps }

func (h compensations) routes() []rest.Route {
	return []rest.Route{
		rest.Handle("GET", "/workflows/{id}/compensations", "List the compensations of a workflow, by run", h.listCompensations),
		rest.Handle("GET", "/workflows/{id}/failed_workflow", "Get what the jobs of the latest compensation are told about the run, with a page of the tasks",
			h.getFailedWorkflow, rest.RunnersOwnWorkflow),
	}
}

func (h compensations) listCompensations(r *rest.Request[IDParams, rest.None]) (api.Compensations, error) {
	all, err := h.Store.Workflows.Compensations(r.Context(), r.Params.ID)
	return api.Compensations{Compensations: NotNil(all)}, err
}

type failedWorkflowParams struct {
	IDParams
	windowParams
}

func (h compensations) getFailedWorkflow(r *rest.Request[failedWorkflowParams, rest.None]) (api.FailedWorkflowPage, error) {
	page, err := r.Params.Page()
	if err != nil {
		return api.FailedWorkflowPage{}, err
	}
	f, total, err := h.Store.Workflows.Failed(r.Context(), r.Params.ID, page)
	if f.Tasks == nil {
		f.Tasks = []stage.FailedTask{}
	}
	return api.FailedWorkflowPage{Workflow: f, TotalTasks: total}, err
}
