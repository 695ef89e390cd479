package handler

import (
	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server/rest"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// failureHandlers handles requests about failure handlers.
type failureHandlers struct{ *Deps }

func (h failureHandlers) routes() []rest.Route {
	return []rest.Route{
		rest.Handle("POST", "/failure_handlers", "Create a failure handler", h.createFailureHandler),
		rest.Handle("GET", "/failure_handlers/{id}", "Get a failure handler", ByID(h.Store.FailureHandlers.Get, fromFailureHandler)),
		rest.Handle("DELETE", "/failure_handlers/{id}", "Delete a failure handler; its jobs then have none", h.deleteFailureHandler),
		rest.Handle("GET", "/workflows/{id}/failure_handlers", "List the failure handlers of a workflow", List(h.listFailureHandlers, fromFailureHandler)),
	}
}

func fromFailureHandler(h workflow.FailureHandler) api.FailureHandler {
	return api.FailureHandler{ID: &h.ID, WorkflowID: h.WorkflowID, Name: h.Name, Rules: h.Rules}
}

func (h failureHandlers) createFailureHandler(r *rest.Request[rest.None, api.FailureHandler]) (api.FailureHandler, error) {
	f, err := h.Store.FailureHandlers.Create(r.Context(), workflow.FailureHandler{
		WorkflowID: r.Body.WorkflowID, Name: r.Body.Name, Rules: r.Body.Rules,
	})
	return fromFailureHandler(f), err
}

func (h failureHandlers) deleteFailureHandler(r *rest.Request[IDParams, rest.None]) (api.DeletedFailureHandler, error) {
	f, err := h.Store.FailureHandlers.Delete(r.Context(), r.Params.ID)
	return api.DeletedFailureHandler{FailureHandler: fromFailureHandler(f), Message: "Failure handler deleted"}, err
}

type handlerListParams struct {
	IDParams
	windowParams
}

func (h failureHandlers) listFailureHandlers(r *rest.Request[handlerListParams, rest.None], page store.Page) ([]workflow.FailureHandler, int64, error) {
	return h.Store.FailureHandlers.List(r.Context(), r.Params.ID, page)
}
