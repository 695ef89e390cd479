package server

import (
	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func (s *Server) compensationRoutes() []route {
	return []route{
		handle("GET", "/workflows/{id}/compensations", "List what became of undoing runs of a workflow, by run", s.listCompensations),
		handle("GET", "/workflows/{id}/failed_workflow", "Get what the jobs of the latest compensation learn of the run, with a page of the tasks",
			s.getFailedWorkflow, runnersOwnWorkflow),
	}
}

func (s *Server) listCompensations(r *request[idParams, none]) (api.Compensations, error) {
	all, err := s.Store.Compensations(r.Context(), r.Params.ID)
	return api.Compensations{Compensations: notNil(all)}, err
}

type failedWorkflowParams struct {
	idParams
	windowParams
}

func (s *Server) getFailedWorkflow(r *request[failedWorkflowParams, none]) (api.FailedWorkflowPage, error) {
	page, err := r.Params.page()
	if err != nil {
		return api.FailedWorkflowPage{}, err
	}
	f, total, err := s.Store.FailedWorkflow(r.Context(), r.Params.ID, page)
	if f.Tasks == nil {
		f.Tasks = []workflow.FailedTask{}
	}
	return api.FailedWorkflowPage{Workflow: f, TotalTasks: total}, err
}
