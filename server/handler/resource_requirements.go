package handler

import (
	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server/rest"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// requirements handles requests about resource requirements.
type requirements struct{ *Deps }

func (h requirements) routes() []rest.Route {
	return []rest.Route{
		rest.Handle("POST", "/resource_requirements", "Create resource requirements", h.createRequirements),
		rest.Handle("GET", "/resource_requirements", "List the resource requirements of a workflow", List(h.listRequirements, fromRequirements)),
		rest.Handle("GET", "/resource_requirements/{id}", "Get resource requirements", ByID(h.Store.Requirements.Get, fromRequirements)),
		rest.Handle("PUT", "/resource_requirements/{id}", "Change resource requirements; an absent field is kept", h.updateRequirements),
		rest.Handle("DELETE", "/resource_requirements/{id}", "Delete resource requirements that no job uses", ByID(h.Store.Requirements.Delete, fromRequirements), rest.Conflict409),
		rest.Handle("DELETE", "/resource_requirements", "Delete the resource requirements of a workflow that no job uses", DeleteAll(h.Store.Requirements.DeleteUnused)),
	}
}

func fromRequirements(q workflow.ResourceRequirements) api.ResourceRequirements {
	return api.ResourceRequirements{
		ID: &q.ID, WorkflowID: q.WorkflowID, Name: q.Name, NumCPUs: &q.NumCPUs, NumGPUs: &q.NumGPUs, NumNodes: &q.NumNodes,
		Memory: &q.Memory, Runtime: &q.Runtime,
	}
}

// checkRequirements returns an error that names the first field with a wrong value.
func checkRequirements(q *api.ResourceRequirements) error {
	for _, n := range []struct {
		field string
		value *int64
		least int64
	}{{"num_cpus", q.NumCPUs, 1}, {"num_nodes", q.NumNodes, 1}, {"num_gpus", q.NumGPUs, 0}} {
		if n.value != nil && *n.value < n.least {
			return rest.InvalidField(n.field, *n.value, "%s must be at least %d", n.field, n.least)
		}
	}
	if q.Memory != nil {
		if _, err := workflow.ParseMemory(*q.Memory); err != nil {
			return rest.InvalidField("memory", *q.Memory, "%v", err)
		}
	}
	if q.Runtime != nil {
		if _, err := workflow.ParseRuntime(*q.Runtime); err != nil {
			return rest.InvalidField("runtime", *q.Runtime, "%v", err)
		}
	}
	return nil
}

func (h requirements) createRequirements(r *rest.Request[rest.None, api.ResourceRequirements]) (api.ResourceRequirements, error) {
	q := &r.Body
	if err := checkRequirements(q); err != nil {
		return api.ResourceRequirements{}, err
	}
	created, err := h.Store.Requirements.Create(r.Context(), workflow.ResourceRequirements{
		WorkflowID: q.WorkflowID, Name: q.Name, NumCPUs: Or(q.NumCPUs, 1), NumGPUs: Or(q.NumGPUs, 0), NumNodes: Or(q.NumNodes, 1),
		Memory: Or(q.Memory, "1m"), Runtime: Or(q.Runtime, "PT1M"),
	})
	return fromRequirements(created), err
}

type requirementsListParams struct {
	WorkflowPageParams
	JobID    *int64  `query:"job_id" doc:"those of this job"`
	Name     *string `query:"name"`
	Memory   *string `query:"memory" doc:"exactly as written"`
	NumCPUs  *int64  `query:"num_cpus"`
	NumGPUs  *int64  `query:"num_gpus"`
	NumNodes *int64  `query:"num_nodes"`
	Runtime  *int64  `query:"runtime" doc:"in seconds"`
}

func (h requirements) listRequirements(r *rest.Request[requirementsListParams, rest.None], page store.Page) ([]workflow.ResourceRequirements, int64, error) {
	p := &r.Params
	return h.Store.Requirements.List(r.Context(), store.RequirementsFilter{
		WorkflowID: p.WorkflowID, JobID: p.JobID, Name: p.Name, Memory: p.Memory,
		NumCPUs: p.NumCPUs, NumGPUs: p.NumGPUs, NumNodes: p.NumNodes, RuntimeSeconds: p.Runtime,
	}, page)
}

func (h requirements) updateRequirements(r *rest.Request[IDParams, api.ResourceRequirements]) (api.ResourceRequirements, error) {
	q := &r.Body
	if err := checkRequirements(q); err != nil {
		return api.ResourceRequirements{}, err
	}
	updated, err := h.Store.Requirements.Update(r.Context(), r.Params.ID, store.RequirementsUpdate{
		WorkflowID: q.WorkflowID, Name: &q.Name, NumCPUs: q.NumCPUs, NumGPUs: q.NumGPUs, NumNodes: q.NumNodes,
		Memory: q.Memory, Runtime: q.Runtime,
	}, r.User())
	return fromRequirements(updated), err
}
