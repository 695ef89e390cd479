package torc

import (
	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server/handler"
	"github.com/torc-slurm/torc-slurm/server/rest"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// remoteWorkers handles requests about remote workers.
type remoteWorkers struct{ *handler.Deps }

func (h remoteWorkers) routes() []rest.Route {
	return []rest.Route{
		rest.Handle("POST", "/workflows/{id}/remote_workers", "Add hosts to a workflow; those already there stay", h.addRemoteWorkers),
		rest.Handle("GET", "/workflows/{id}/remote_workers", "List the hosts of a workflow, by name", h.listRemoteWorkers),
		rest.Handle("DELETE", "/workflows/{id}/remote_workers/{worker}", "Remove a host from a workflow", h.deleteRemoteWorker),
	}
}

func fromRemoteWorker(w compute.RemoteWorker) api.RemoteWorker {
	return api.RemoteWorker{Worker: w.Worker, WorkflowID: w.WorkflowID}
}

func (h remoteWorkers) addRemoteWorkers(r *rest.Request[handler.IDParams, []string]) ([]api.RemoteWorker, error) {
	err := h.Store.RemoteWorkers.Add(r.Context(), r.Params.ID, r.Body)
	return handler.Each(r.Body, func(worker string) api.RemoteWorker {
		return api.RemoteWorker{Worker: worker, WorkflowID: r.Params.ID}
	}), err
}

func (h remoteWorkers) listRemoteWorkers(r *rest.Request[handler.IDParams, rest.None]) ([]api.RemoteWorker, error) {
	workers, err := h.Store.RemoteWorkers.List(r.Context(), r.Params.ID)
	return handler.Each(workers, fromRemoteWorker), err
}

type remoteWorkerParams struct {
	handler.IDParams
	Worker string `path:"worker"`
}

func (h remoteWorkers) deleteRemoteWorker(r *rest.Request[remoteWorkerParams, rest.None]) (api.RemoteWorker, error) {
	err := h.Store.RemoteWorkers.Delete(r.Context(), r.Params.ID, r.Params.Worker)
	return api.RemoteWorker{Worker: r.Params.Worker, WorkflowID: r.Params.ID}, err
}
