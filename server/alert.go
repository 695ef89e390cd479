package server

import (
	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func (s *Server) alertRoutes() []route {
	return []route{
		handle("GET", "/alerts", "List alerts, with what became of the messages about them", s.listAlerts),
		handle("POST", "/workflows/{id}/test_alert", "Raise an alert that says nothing, to see whether messages arrive", s.testAlert, conflict409),
	}
}

type alertListParams struct {
	WorkflowID *int64 `query:"workflow_id" doc:"of this workflow; of all without it"`
	windowParams
}

func (s *Server) listAlerts(r *request[alertListParams, none]) (api.Page[workflow.RaisedAlert], error) {
	page, err := r.Params.page()
	if err != nil {
		return api.Page[workflow.RaisedAlert]{}, err
	}
	items, total, err := s.Store.Alerts(r.Context(), or(r.Params.WorkflowID, 0), page)
	return pageOf(page, items, total, func(a workflow.RaisedAlert) workflow.RaisedAlert { return a }), err
}

func (s *Server) testAlert(r *request[idParams, none]) (api.TestAlert, error) {
	id, err := s.Store.TestAlert(r.Context(), r.Params.ID, r.user())
	return api.TestAlert{AlertID: id}, err
}
