package torc

import (
	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server/handler"
	"github.com/torc-slurm/torc-slurm/server/rest"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// localSchedulers handles requests about local schedulers.
type localSchedulers struct{ *handler.Deps }

func (h localSchedulers) routes() []rest.Route {
	return []rest.Route{
		rest.Handle("POST", "/local_schedulers", "Create a local scheduler", h.createLocalScheduler),
		rest.Handle("GET", "/local_schedulers", "List the local schedulers of a workflow", handler.List(h.listLocalSchedulers, fromLocalScheduler)),
		rest.Handle("GET", "/local_schedulers/{id}", "Get a local scheduler", handler.ByID(h.Store.LocalSchedulers.Get, fromLocalScheduler)),
		rest.Handle("PUT", "/local_schedulers/{id}", "Change a local scheduler; an absent field is kept", h.updateLocalScheduler),
		rest.Handle("DELETE", "/local_schedulers/{id}", "Delete a local scheduler", handler.ByID(h.Store.LocalSchedulers.Delete, fromLocalScheduler)),
		rest.Handle("DELETE", "/local_schedulers", "Delete the local schedulers of a workflow", handler.DeleteAll(h.Store.LocalSchedulers.DeleteAll)),
	}
}

func fromLocalScheduler(c compute.LocalScheduler) api.LocalScheduler {
	return api.LocalScheduler{ID: &c.ID, WorkflowID: c.WorkflowID, Memory: &c.Memory, NumCPUs: &c.NumCPUs}
}

func (h localSchedulers) createLocalScheduler(r *rest.Request[rest.None, api.LocalScheduler]) (api.LocalScheduler, error) {
	b := &r.Body
	switch {
	case b.Memory == nil:
		return *b, rest.InvalidField("memory", nil, "a local scheduler needs its memory")
	case b.NumCPUs == nil:
		return *b, rest.InvalidField("num_cpus", nil, "a local scheduler needs its num_cpus")
	}
	c, err := h.Store.LocalSchedulers.Create(r.Context(), compute.LocalScheduler{WorkflowID: b.WorkflowID, Memory: *b.Memory, NumCPUs: *b.NumCPUs})
	return fromLocalScheduler(c), err
}

func (h localSchedulers) listLocalSchedulers(r *rest.Request[handler.WorkflowPageParams, rest.None], page store.Page) ([]compute.LocalScheduler, int64, error) {
	return h.Store.LocalSchedulers.List(r.Context(), r.Params.WorkflowID, page)
}

func (h localSchedulers) updateLocalScheduler(r *rest.Request[handler.IDParams, api.LocalScheduler]) (api.LocalScheduler, error) {
	c, err := h.Store.LocalSchedulers.Update(r.Context(), r.Params.ID, store.LocalSchedulerUpdate{
		WorkflowID: r.Body.WorkflowID, Memory: r.Body.Memory, NumCPUs: r.Body.NumCPUs,
	})
	return fromLocalScheduler(c), err
}
