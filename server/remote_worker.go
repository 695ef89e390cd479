package server

import (
	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func (s *Server) remoteWorkerRoutes() []route {
	return []route{
		handle("POST", "/workflows/{id}/remote_workers", "Add hosts to a workflow; those already there stay", s.addRemoteWorkers),
		handle("GET", "/workflows/{id}/remote_workers", "List the hosts of a workflow, by name", s.listRemoteWorkers),
		handle("DELETE", "/workflows/{id}/remote_workers/{worker}", "Remove a host from a workflow", s.deleteRemoteWorker),
	}
}

func fromRemoteWorker(w workflow.RemoteWorker) api.RemoteWorker {
	return api.RemoteWorker{Worker: w.Worker, WorkflowID: w.WorkflowID}
}

func (s *Server) addRemoteWorkers(r *request[idParams, []string]) ([]api.RemoteWorker, error) {
	err := s.Store.AddRemoteWorkers(r.Context(), r.Params.ID, r.Body)
	return each(r.Body, func(worker string) api.RemoteWorker {
		return api.RemoteWorker{Worker: worker, WorkflowID: r.Params.ID}
	}), err
}

func (s *Server) listRemoteWorkers(r *request[idParams, none]) ([]api.RemoteWorker, error) {
	workers, err := s.Store.RemoteWorkers(r.Context(), r.Params.ID)
	return each(workers, fromRemoteWorker), err
}

type remoteWorkerParams struct {
	idParams
	Worker string `path:"worker"`
}

func (s *Server) deleteRemoteWorker(r *request[remoteWorkerParams, none]) (api.RemoteWorker, error) {
	err := s.Store.DeleteRemoteWorker(r.Context(), r.Params.ID, r.Params.Worker)
	return api.RemoteWorker{Worker: r.Params.Worker, WorkflowID: r.Params.ID}, err
}
