package server

import (
	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func (s *Server) slurmSchedulerRoutes() []route {
	return []route{
		handle("POST", "/slurm_schedulers", "Create a Slurm scheduler", s.createSlurmScheduler),
		handle("GET", "/slurm_schedulers", "List the Slurm schedulers of a workflow", s.listSlurmSchedulers),
		handle("GET", "/slurm_schedulers/{id}", "Get a Slurm scheduler", s.getSlurmScheduler),
		handle("PUT", "/slurm_schedulers/{id}", "Change a Slurm scheduler; an absent field is kept", s.updateSlurmScheduler),
		handle("DELETE", "/slurm_schedulers/{id}", "Delete a Slurm scheduler that no job is assigned to", s.deleteSlurmScheduler, conflict409),
		handle("DELETE", "/slurm_schedulers", "Delete the Slurm schedulers of a workflow that no job is assigned to", s.deleteSlurmSchedulers),
	}
}

func fromSlurmScheduler(c workflow.SlurmScheduler) api.SlurmScheduler {
	return api.SlurmScheduler{
		ID: &c.ID, WorkflowID: c.WorkflowID, Name: &c.Name, Account: c.Account, Gres: c.Gres, Mem: c.Mem, Nodes: c.Nodes,
		NtasksPerNode: c.NtasksPerNode, Partition: c.Partition, QOS: c.QOS, Tmp: c.Tmp, Walltime: c.Walltime,
		Extra: c.Extra, SerializeAllocations: &c.SerializeAllocations,
	}
}

func (s *Server) createSlurmScheduler(r *request[none, api.SlurmScheduler]) (api.SlurmScheduler, error) {
	b := &r.Body
	if b.Name == nil {
		return *b, invalidField("name", nil, "a Slurm scheduler needs a name")
	}
	c, err := s.Store.CreateSlurmScheduler(r.Context(), workflow.SlurmScheduler{
		WorkflowID: b.WorkflowID, Name: *b.Name, Account: b.Account, Gres: b.Gres, Mem: b.Mem, Nodes: b.Nodes,
		NtasksPerNode: b.NtasksPerNode, Partition: b.Partition, QOS: b.QOS, Tmp: b.Tmp, Walltime: b.Walltime,
		Extra: b.Extra, SerializeAllocations: or(b.SerializeAllocations, false),
	})
	return fromSlurmScheduler(c), err
}

func (s *Server) listSlurmSchedulers(r *request[workflowPageParams, none]) (api.Page[api.SlurmScheduler], error) {
	page, err := r.Params.page()
	if err != nil {
		return api.Page[api.SlurmScheduler]{}, err
	}
	items, total, err := s.Store.SlurmSchedulers(r.Context(), r.Params.WorkflowID, page)
	return pageOf(page, items, total, fromSlurmScheduler), err
}

func (s *Server) getSlurmScheduler(r *request[idParams, none]) (api.SlurmScheduler, error) {
	c, err := s.Store.SlurmScheduler(r.Context(), r.Params.ID)
	return fromSlurmScheduler(c), err
}

func (s *Server) updateSlurmScheduler(r *request[idParams, api.SlurmScheduler]) (api.SlurmScheduler, error) {
	b := &r.Body
	c, err := s.Store.UpdateSlurmScheduler(r.Context(), r.Params.ID, store.SlurmSchedulerUpdate{
		WorkflowID: b.WorkflowID, Name: b.Name, Account: &b.Account, Gres: b.Gres, Mem: b.Mem, Nodes: &b.Nodes,
		NtasksPerNode: b.NtasksPerNode, Partition: b.Partition, QOS: b.QOS, Tmp: b.Tmp, Walltime: &b.Walltime,
		Extra: b.Extra, SerializeAllocations: b.SerializeAllocations,
	})
	return fromSlurmScheduler(c), err
}

func (s *Server) deleteSlurmScheduler(r *request[idParams, none]) (api.SlurmScheduler, error) {
	c, err := s.Store.DeleteSlurmScheduler(r.Context(), r.Params.ID)
	return fromSlurmScheduler(c), err
}

func (s *Server) deleteSlurmSchedulers(r *request[workflowParams, none]) (api.DeleteCount, error) {
	n, err := s.Store.DeleteSlurmSchedulers(r.Context(), r.Params.WorkflowID)
	return api.DeleteCount{Count: n}, err
}
