package handler

import (
	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server/rest"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// breakers handles requests about circuit breakers.
type breakers struct{ *Deps }

func (h breakers) routes() []rest.Route {
	return []rest.Route{
		rest.Handle("GET", "/breakers", "List circuit breakers that are open", h.listBreakers),
		rest.Handle("POST", "/breakers/reset", "Close open circuit breakers, and list them", h.resetBreakers),
	}
}

type breakerListParams struct {
	WorkflowID *int64 `query:"workflow_id" doc:"of this workflow, and those for the nodes of all"`
	All        *bool  `query:"all" doc:"also those that have closed"`
}

func (h breakers) listBreakers(r *rest.Request[breakerListParams, rest.None]) (api.BreakerList, error) {
	trips, err := h.Store.Breakers.Trips(r.Context(), store.BreakerFilter{WorkflowID: Or(r.Params.WorkflowID, 0), Ended: Or(r.Params.All, false)})
	return api.BreakerList{Breakers: NotNil(trips)}, err
}

func (h breakers) resetBreakers(r *rest.Request[rest.None, api.BreakerReset]) (api.BreakerList, error) {
	b := &r.Body
	if given := b.ID != 0 || b.WorkflowID != 0 || b.Node != ""; given == b.All {
		return api.BreakerList{}, workflow.Errorf(workflow.CodeInvalid, "name the circuit breakers to close: by id, workflow_id or node, or all")
	}
	closed, err := h.Store.Breakers.Reset(r.Context(), store.BreakerFilter{ID: b.ID, WorkflowID: b.WorkflowID, Node: b.Node}, r.User())
	return api.BreakerList{Breakers: NotNil(closed)}, err
}
