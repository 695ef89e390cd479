package server

import (
	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func (s *Server) localSchedulerRoutes() []route {
	return []route{
		handle("POST", "/local_schedulers", "Create a local scheduler", s.createLocalScheduler),
		handle("GET", "/local_schedulers", "List the local schedulers of a workflow", s.listLocalSchedulers),
		handle("GET", "/local_schedulers/{id}", "Get a local scheduler", s.getLocalScheduler),
		handle("PUT", "/local_schedulers/{id}", "Change a local scheduler; an absent field is kept", s.updateLocalScheduler),
		handle("DELETE", "/local_schedulers/{id}", "Delete a local scheduler", s.deleteLocalScheduler),
		handle("DELETE", "/local_schedulers", "Delete the local schedulers of a workflow", s.deleteLocalSchedulers),
	}
}

func fromLocalScheduler(c workflow.LocalScheduler) api.LocalScheduler {
	return api.LocalScheduler{ID: &c.ID, WorkflowID: c.WorkflowID, Memory: &c.Memory, NumCPUs: &c.NumCPUs}
}

func (s *Server) createLocalScheduler(r *request[none, api.LocalScheduler]) (api.LocalScheduler, error) {
	b := &r.Body
	switch {
	case b.Memory == nil:
		return *b, invalidField("memory", nil, "a local scheduler needs its memory")
	case b.NumCPUs == nil:
		return *b, invalidField("num_cpus", nil, "a local scheduler needs its num_cpus")
	}
	c, err := s.Store.CreateLocalScheduler(r.Context(), workflow.LocalScheduler{WorkflowID: b.WorkflowID, Memory: *b.Memory, NumCPUs: *b.NumCPUs})
	return fromLocalScheduler(c), err
}

func (s *Server) listLocalSchedulers(r *request[workflowPageParams, none]) (api.Page[api.LocalScheduler], error) {
	page, err := r.Params.page()
	if err != nil {
		return api.Page[api.LocalScheduler]{}, err
	}
	items, total, err := s.Store.LocalSchedulers(r.Context(), r.Params.WorkflowID, page)
	return pageOf(page, items, total, fromLocalScheduler), err
}

func (s *Server) getLocalScheduler(r *request[idParams, none]) (api.LocalScheduler, error) {
	c, err := s.Store.LocalScheduler(r.Context(), r.Params.ID)
	return fromLocalScheduler(c), err
}

func (s *Server) updateLocalScheduler(r *request[idParams, api.LocalScheduler]) (api.LocalScheduler, error) {
	c, err := s.Store.UpdateLocalScheduler(r.Context(), r.Params.ID, store.LocalSchedulerUpdate{
		WorkflowID: r.Body.WorkflowID, Memory: r.Body.Memory, NumCPUs: r.Body.NumCPUs,
	})
	return fromLocalScheduler(c), err
}

func (s *Server) deleteLocalScheduler(r *request[idParams, none]) (api.LocalScheduler, error) {
	c, err := s.Store.DeleteLocalScheduler(r.Context(), r.Params.ID)
	return fromLocalScheduler(c), err
}

func (s *Server) deleteLocalSchedulers(r *request[workflowParams, none]) (api.DeleteCount, error) {
	n, err := s.Store.DeleteLocalSchedulers(r.Context(), r.Params.WorkflowID)
	return api.DeleteCount{Count: n}, err
}
