package server

import (
	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func (s *Server) breakerRoutes() []route {
	return []route{
		handle("GET", "/breakers", "List circuit breakers that are open", s.listBreakers),
		handle("POST", "/breakers/reset", "Close open circuit breakers, and list them", s.resetBreakers),
	}
}

type breakerListParams struct {
	WorkflowID *int64 `query:"workflow_id" doc:"of this workflow, and those for the nodes of all"`
	All        *bool  `query:"all" doc:"also those that have closed"`
}

func (s *Server) listBreakers(r *request[breakerListParams, none]) (api.BreakerList, error) {
	trips, err := s.Store.BreakerTrips(r.Context(), store.BreakerFilter{WorkflowID: or(r.Params.WorkflowID, 0), Ended: or(r.Params.All, false)})
	return api.BreakerList{Breakers: notNil(trips)}, err
}

func (s *Server) resetBreakers(r *request[none, api.BreakerReset]) (api.BreakerList, error) {
	b := &r.Body
	if given := b.ID != 0 || b.WorkflowID != 0 || b.Node != ""; given == b.All {
		return api.BreakerList{}, workflow.Errorf(workflow.CodeInvalid, "say which circuit breakers are to be closed: by id, workflow_id or node, or all")
	}
	closed, err := s.Store.ResetBreakers(r.Context(), store.BreakerFilter{ID: b.ID, WorkflowID: b.WorkflowID, Node: b.Node}, r.user())
	return api.BreakerList{Breakers: notNil(closed)}, err
}
