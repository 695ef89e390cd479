package handler

import (
	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server/rest"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// slurmSchedulers handles requests about Slurm schedulers.
type slurmSchedulers struct{ *Deps }

func (h slurmSchedulers) routes() []rest.Route {
	return []rest.Route{
		rest.Handle("POST", "/slurm_schedulers", "Create a Slurm scheduler", h.createSlurmScheduler),
		rest.Handle("GET", "/slurm_schedulers", "List the Slurm schedulers of a workflow", List(h.listSlurmSchedulers, fromSlurmScheduler)),
		rest.Handle("GET", "/slurm_schedulers/{id}", "Get a Slurm scheduler", ByID(h.Store.SlurmSchedulers.Get, fromSlurmScheduler)),
		rest.Handle("PUT", "/slurm_schedulers/{id}", "Change a Slurm scheduler; an absent field is kept", h.updateSlurmScheduler),
		rest.Handle("DELETE", "/slurm_schedulers/{id}", "Delete a Slurm scheduler that has no job assigned", ByID(h.Store.SlurmSchedulers.Delete, fromSlurmScheduler), rest.Conflict409),
		rest.Handle("DELETE", "/slurm_schedulers", "Delete the Slurm schedulers of a workflow that have no job assigned", DeleteAll(h.Store.SlurmSchedulers.DeleteAll)),
	}
}

func fromSlurmScheduler(c compute.SlurmScheduler) api.SlurmScheduler {
	return api.SlurmScheduler{
		ID: &c.ID, WorkflowID: c.WorkflowID, Name: &c.Name, Account: c.Account, Gres: c.Gres, Mem: c.Mem, Nodes: c.Nodes,
		NtasksPerNode: c.NtasksPerNode, Partition: c.Partition, QOS: c.QOS, Tmp: c.Tmp, Walltime: c.Walltime,
		Extra: c.Extra, SerializeAllocations: &c.SerializeAllocations,
	}
}

func (h slurmSchedulers) createSlurmScheduler(r *rest.Request[rest.None, api.SlurmScheduler]) (api.SlurmScheduler, error) {
	b := &r.Body
	if b.Name == nil {
		return *b, rest.InvalidField("name", nil, "a Slurm scheduler needs a name")
	}
	c, err := h.Store.SlurmSchedulers.Create(r.Context(), compute.SlurmScheduler{
		WorkflowID: b.WorkflowID, Name: *b.Name, Account: b.Account, Gres: b.Gres, Mem: b.Mem, Nodes: b.Nodes,
		NtasksPerNode: b.NtasksPerNode, Partition: b.Partition, QOS: b.QOS, Tmp: b.Tmp, Walltime: b.Walltime,
		Extra: b.Extra, SerializeAllocations: Or(b.SerializeAllocations, false),
	})
	return fromSlurmScheduler(c), err
}

func (h slurmSchedulers) listSlurmSchedulers(r *rest.Request[WorkflowPageParams, rest.None], page store.Page) ([]compute.SlurmScheduler, int64, error) {
	return h.Store.SlurmSchedulers.List(r.Context(), r.Params.WorkflowID, page)
}

func (h slurmSchedulers) updateSlurmScheduler(r *rest.Request[IDParams, api.SlurmScheduler]) (api.SlurmScheduler, error) {
	b := &r.Body
	c, err := h.Store.SlurmSchedulers.Update(r.Context(), r.Params.ID, store.SlurmSchedulerUpdate{
		WorkflowID: b.WorkflowID, Name: b.Name, Account: &b.Account, Gres: b.Gres, Mem: b.Mem, Nodes: &b.Nodes,
		NtasksPerNode: b.NtasksPerNode, Partition: b.Partition, QOS: b.QOS, Tmp: b.Tmp, Walltime: &b.Walltime,
		Extra: b.Extra, SerializeAllocations: b.SerializeAllocations,
	})
	return fromSlurmScheduler(c), err
}
