package server

import (
	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func (s *Server) computeNodeRoutes() []route {
	return []route{
		handle("POST", "/compute_nodes", "Create a compute node", s.createComputeNode),
		handle("GET", "/compute_nodes", "List the compute nodes of a workflow", s.listComputeNodes),
		handle("GET", "/compute_nodes/{id}", "Get a compute node", s.getComputeNode),
		handle("PUT", "/compute_nodes/{id}", "Change a compute node; an absent field is kept", s.updateComputeNode),
		handle("DELETE", "/compute_nodes/{id}", "Delete a compute node that holds no job, with its results", s.deleteComputeNode),
		handle("DELETE", "/compute_nodes", "Delete the compute nodes of a workflow", s.deleteComputeNodes),
	}
}

func toComputeNode(n api.ComputeNode) workflow.ComputeNode {
	return workflow.ComputeNode{
		WorkflowID: n.WorkflowID, Hostname: n.Hostname, PID: n.PID, StartTime: n.StartTime, EndTime: n.EndTime,
		DurationSeconds: n.DurationSeconds, IsActive: or(n.IsActive, false), NumCPUs: n.NumCPUs, MemoryGB: n.MemoryGB,
		NumGPUs: n.NumGPUs, NumNodes: n.NumNodes, TimeLimit: n.TimeLimit, SchedulerConfigID: n.SchedulerConfigID,
		Type: n.ComputeNodeType, Labels: n.Labels, Scheduler: raw(n.Scheduler), SampleCount: n.SampleCount,
		PeakCPUPercent: n.PeakCPUPercent, AvgCPUPercent: n.AvgCPUPercent,
		PeakMemoryBytes: n.PeakMemoryBytes, AvgMemoryBytes: n.AvgMemoryBytes,
	}
}

func fromComputeNode(n workflow.ComputeNode) api.ComputeNode {
	return api.ComputeNode{
		ID: &n.ID, WorkflowID: n.WorkflowID, Hostname: n.Hostname, PID: n.PID, StartTime: n.StartTime, EndTime: n.EndTime,
		DurationSeconds: n.DurationSeconds, IsActive: &n.IsActive, NumCPUs: n.NumCPUs, MemoryGB: n.MemoryGB,
		NumGPUs: n.NumGPUs, NumNodes: n.NumNodes, TimeLimit: n.TimeLimit, SchedulerConfigID: n.SchedulerConfigID,
		ComputeNodeType: n.Type, Labels: n.Labels, Scheduler: n.Scheduler, SampleCount: n.SampleCount,
		PeakCPUPercent: n.PeakCPUPercent, AvgCPUPercent: n.AvgCPUPercent,
		PeakMemoryBytes: n.PeakMemoryBytes, AvgMemoryBytes: n.AvgMemoryBytes,
	}
}

func (s *Server) createComputeNode(r *request[none, api.ComputeNode]) (api.ComputeNode, error) {
	n, err := s.Store.CreateComputeNode(r.Context(), toComputeNode(r.Body))
	return fromComputeNode(n), err
}

type computeNodeListParams struct {
	workflowPageParams
	Hostname               *string `query:"hostname" doc:"a part of the name, in any case"`
	IsActive               *bool   `query:"is_active"`
	ScheduledComputeNodeID *int64  `query:"scheduled_compute_node_id" doc:"scheduler.scheduler_id"`
}

func (s *Server) listComputeNodes(r *request[computeNodeListParams, none]) (api.Page[api.ComputeNode], error) {
	page, err := r.Params.page()
	if err != nil {
		return api.Page[api.ComputeNode]{}, err
	}
	nodes, total, err := s.Store.ComputeNodes(r.Context(), store.ComputeNodeFilter{
		WorkflowID: r.Params.WorkflowID, Hostname: r.Params.Hostname, IsActive: r.Params.IsActive,
		ScheduledComputeNodeID: r.Params.ScheduledComputeNodeID,
	}, page)
	return pageOf(page, nodes, total, fromComputeNode), err
}

func (s *Server) getComputeNode(r *request[idParams, none]) (api.ComputeNode, error) {
	n, err := s.Store.ComputeNode(r.Context(), r.Params.ID)
	return fromComputeNode(n), err
}

func (s *Server) updateComputeNode(r *request[idParams, api.ComputeNode]) (api.ComputeNode, error) {
	b := &r.Body
	n, err := s.Store.UpdateComputeNode(r.Context(), r.Params.ID, b.WorkflowID, workflow.ComputeNodeUpdate{
		Hostname: &b.Hostname, PID: &b.PID, StartTime: &b.StartTime, EndTime: b.EndTime, DurationSeconds: b.DurationSeconds,
		IsActive: b.IsActive, NumCPUs: &b.NumCPUs, MemoryGB: &b.MemoryGB, NumGPUs: &b.NumGPUs, NumNodes: &b.NumNodes,
		TimeLimit: b.TimeLimit, SchedulerConfigID: b.SchedulerConfigID, Type: &b.ComputeNodeType, Scheduler: raw(b.Scheduler),
		SampleCount: b.SampleCount, PeakCPUPercent: b.PeakCPUPercent, AvgCPUPercent: b.AvgCPUPercent,
		PeakMemoryBytes: b.PeakMemoryBytes, AvgMemoryBytes: b.AvgMemoryBytes,
	})
	return fromComputeNode(n), err
}

func (s *Server) deleteComputeNode(r *request[idParams, none]) (api.ComputeNode, error) {
	n, err := s.Store.DeleteComputeNode(r.Context(), r.Params.ID)
	return fromComputeNode(n), err
}

func (s *Server) deleteComputeNodes(r *request[workflowParams, none]) (api.DeleteCount, error) {
	n, err := s.Store.DeleteComputeNodes(r.Context(), r.Params.WorkflowID)
	return api.DeleteCount{Count: n}, err
}
