package server

import (
	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func (s *Server) resourceRequirementsRoutes() []route {
	return []route{
		handle("POST", "/resource_requirements", "Create resource requirements", s.createRequirements),
		handle("GET", "/resource_requirements", "List the resource requirements of a workflow", s.listRequirements),
		handle("GET", "/resource_requirements/{id}", "Get resource requirements", s.getRequirements),
		handle("PUT", "/resource_requirements/{id}", "Change resource requirements; an absent field is kept", s.updateRequirements),
		handle("DELETE", "/resource_requirements/{id}", "Delete resource requirements that no job uses", s.deleteRequirements, conflict409),
		handle("DELETE", "/resource_requirements", "Delete the resource requirements of a workflow that no job uses", s.deleteUnusedRequirements),
	}
}

func fromRequirements(q workflow.ResourceRequirements) api.ResourceRequirements {
	return api.ResourceRequirements{
		ID: &q.ID, WorkflowID: q.WorkflowID, Name: q.Name, NumCPUs: &q.NumCPUs, NumGPUs: &q.NumGPUs, NumNodes: &q.NumNodes,
		Memory: &q.Memory, Runtime: &q.Runtime,
	}
}

// checkRequirements refuses values that are there and wrong, by field.
func checkRequirements(q *api.ResourceRequirements) error {
	for _, n := range []struct {
		field string
		value *int64
		least int64
	}{{"num_cpus", q.NumCPUs, 1}, {"num_nodes", q.NumNodes, 1}, {"num_gpus", q.NumGPUs, 0}} {
		if n.value != nil && *n.value < n.least {
			return invalidField(n.field, *n.value, "%s must be at least %d", n.field, n.least)
		}
	}
	if q.Memory != nil {
		if _, err := workflow.ParseMemory(*q.Memory); err != nil {
			return invalidField("memory", *q.Memory, "%v", err)
		}
	}
	if q.Runtime != nil {
		if _, err := workflow.ParseRuntime(*q.Runtime); err != nil {
			return invalidField("runtime", *q.Runtime, "%v", err)
		}
	}
	return nil
}

func (s *Server) createRequirements(r *request[none, api.ResourceRequirements]) (api.ResourceRequirements, error) {
	q := &r.Body
	if err := checkRequirements(q); err != nil {
		return api.ResourceRequirements{}, err
	}
	created, err := s.Store.CreateResourceRequirements(r.Context(), workflow.ResourceRequirements{
		WorkflowID: q.WorkflowID, Name: q.Name, NumCPUs: or(q.NumCPUs, 1), NumGPUs: or(q.NumGPUs, 0), NumNodes: or(q.NumNodes, 1),
		Memory: or(q.Memory, "1m"), Runtime: or(q.Runtime, "PT1M"),
	})
	return fromRequirements(created), err
}

type requirementsListParams struct {
	workflowPageParams
	JobID    *int64  `query:"job_id" doc:"those of this job"`
	Name     *string `query:"name"`
	Memory   *string `query:"memory" doc:"exactly as written"`
	NumCPUs  *int64  `query:"num_cpus"`
	NumGPUs  *int64  `query:"num_gpus"`
	NumNodes *int64  `query:"num_nodes"`
	Runtime  *int64  `query:"runtime" doc:"in seconds"`
}

func (s *Server) listRequirements(r *request[requirementsListParams, none]) (api.Page[api.ResourceRequirements], error) {
	page, err := r.Params.page()
	if err != nil {
		return api.Page[api.ResourceRequirements]{}, err
	}
	p := &r.Params
	items, total, err := s.Store.ListResourceRequirements(r.Context(), store.RequirementsFilter{
		WorkflowID: p.WorkflowID, JobID: p.JobID, Name: p.Name, Memory: p.Memory,
		NumCPUs: p.NumCPUs, NumGPUs: p.NumGPUs, NumNodes: p.NumNodes, RuntimeSeconds: p.Runtime,
	}, page)
	return pageOf(page, items, total, fromRequirements), err
}

func (s *Server) getRequirements(r *request[idParams, none]) (api.ResourceRequirements, error) {
	q, err := s.Store.ResourceRequirements(r.Context(), r.Params.ID)
	return fromRequirements(q), err
}

func (s *Server) updateRequirements(r *request[idParams, api.ResourceRequirements]) (api.ResourceRequirements, error) {
	q := &r.Body
	if err := checkRequirements(q); err != nil {
		return api.ResourceRequirements{}, err
	}
	updated, err := s.Store.UpdateResourceRequirements(r.Context(), r.Params.ID, store.RequirementsUpdate{
		WorkflowID: q.WorkflowID, Name: &q.Name, NumCPUs: q.NumCPUs, NumGPUs: q.NumGPUs, NumNodes: q.NumNodes,
		Memory: q.Memory, Runtime: q.Runtime,
	}, r.user())
	return fromRequirements(updated), err
}

func (s *Server) deleteRequirements(r *request[idParams, none]) (api.ResourceRequirements, error) {
	q, err := s.Store.DeleteResourceRequirements(r.Context(), r.Params.ID)
	return fromRequirements(q), err
}

func (s *Server) deleteUnusedRequirements(r *request[workflowParams, none]) (api.DeleteCount, error) {
	n, err := s.Store.DeleteUnusedResourceRequirements(r.Context(), r.Params.WorkflowID)
	return api.DeleteCount{Count: n}, err
}
