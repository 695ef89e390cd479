package server

import (
	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func (s *Server) failureHandlerRoutes() []route {
	return []route{
		handle("POST", "/failure_handlers", "Create a failure handler", s.createFailureHandler),
		handle("GET", "/failure_handlers/{id}", "Get a failure handler", s.getFailureHandler),
		handle("DELETE", "/failure_handlers/{id}", "Delete a failure handler; its jobs are then without", s.deleteFailureHandler),
		handle("GET", "/workflows/{id}/failure_handlers", "List the failure handlers of a workflow", s.listFailureHandlers),
	}
}

func fromFailureHandler(h workflow.FailureHandler) api.FailureHandler {
	return api.FailureHandler{ID: &h.ID, WorkflowID: h.WorkflowID, Name: h.Name, Rules: h.Rules}
}

func (s *Server) createFailureHandler(r *request[none, api.FailureHandler]) (api.FailureHandler, error) {
	h, err := s.Store.CreateFailureHandler(r.Context(), workflow.FailureHandler{
		WorkflowID: r.Body.WorkflowID, Name: r.Body.Name, Rules: r.Body.Rules,
	})
	return fromFailureHandler(h), err
}

func (s *Server) getFailureHandler(r *request[idParams, none]) (api.FailureHandler, error) {
	h, err := s.Store.FailureHandler(r.Context(), r.Params.ID)
	return fromFailureHandler(h), err
}

func (s *Server) deleteFailureHandler(r *request[idParams, none]) (api.DeletedFailureHandler, error) {
	h, err := s.Store.DeleteFailureHandler(r.Context(), r.Params.ID)
	return api.DeletedFailureHandler{FailureHandler: fromFailureHandler(h), Message: "Failure handler deleted"}, err
}

type handlerListParams struct {
	idParams
	windowParams
}

func (s *Server) listFailureHandlers(r *request[handlerListParams, none]) (api.Page[api.FailureHandler], error) {
	page, err := r.Params.page()
	if err != nil {
		return api.Page[api.FailureHandler]{}, err
	}
	items, total, err := s.Store.FailureHandlers(r.Context(), r.Params.ID, page)
	return pageOf(page, items, total, fromFailureHandler), err
}
