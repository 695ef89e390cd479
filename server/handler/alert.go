package handler

import (
	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server/rest"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// alerts handles requests about alerts.
type alerts struct{ *Deps }

func (h alerts) routes() []rest.Route {
	return []rest.Route{
		rest.Handle("GET", "/alerts", "List alerts, with the delivery state of their messages", h.listAlerts),
		rest.Handle("POST", "/workflows/{id}/test_alert", "Raise a test alert, to check that messages are delivered", h.testAlert, rest.Conflict409),
	}
}

type alertListParams struct {
	WorkflowID *int64 `query:"workflow_id" doc:"of this workflow; of all without it"`
	windowParams
}

func (h alerts) listAlerts(r *rest.Request[alertListParams, rest.None]) (api.Page[workflow.RaisedAlert], error) {
	page, err := r.Params.Page()
	if err != nil {
		return api.Page[workflow.RaisedAlert]{}, err
	}
	items, total, err := h.Store.Alerts.List(r.Context(), Or(r.Params.WorkflowID, 0), page)
	return PageOf(page, items, total, func(a workflow.RaisedAlert) workflow.RaisedAlert { return a }), err
}

func (h alerts) testAlert(r *rest.Request[IDParams, rest.None]) (api.TestAlert, error) {
	id, err := h.Store.Alerts.Test(r.Context(), r.Params.ID, r.User())
	return api.TestAlert{AlertID: id}, err
}
