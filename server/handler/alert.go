package handler

import (
	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server/rest"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// alerts handles requests about alerts.
type alerts struct{ *Deps }

func (h alerts) routes() []rest.Route {
	return []rest.Route{
		rest.Handle("GET", "/alerts", "List alerts, with the delivery state of their messages", List(h.listAlerts, same)),
		rest.Handle("POST", "/workflows/{id}/test_alert", "Raise a test alert, to check that messages are delivered", h.testAlert, rest.Conflict409),
	}
}

type alertListParams struct {
	WorkflowID *int64 `query:"workflow_id" doc:"of this workflow; of all without it"`
	windowParams
}

func (h alerts) listAlerts(r *rest.Request[alertListParams, rest.None], page store.Page) ([]workflow.RaisedAlert, int64, error) {
	return h.Store.Alerts.List(r.Context(), Or(r.Params.WorkflowID, 0), page)
}

func (h alerts) testAlert(r *rest.Request[IDParams, rest.None]) (api.TestAlert, error) {
	id, err := h.Store.Alerts.Test(r.Context(), r.Params.ID, r.User())
	return api.TestAlert{AlertID: id}, err
}
