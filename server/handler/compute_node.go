package handler

import (
	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server/rest"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// computeNodes handles requests about compute nodes.
type computeNodes struct{ *Deps }

func (h computeNodes) routes() []rest.Route {
	return []rest.Route{
		rest.Handle("POST", "/compute_nodes", "Create a compute node", h.createComputeNode),
		rest.Handle("GET", "/compute_nodes", "List the compute nodes of a workflow", List(h.listComputeNodes, fromComputeNode)),
		rest.Handle("GET", "/compute_nodes/{id}", "Get a compute node", ByID(h.Store.ComputeNodes.Get, fromComputeNode)),
		rest.Handle("PUT", "/compute_nodes/{id}", "Change a compute node; an absent field is kept", h.updateComputeNode),
		rest.Handle("DELETE", "/compute_nodes/{id}", "Delete a compute node that holds no job, with its results", ByID(h.Store.ComputeNodes.Delete, fromComputeNode)),
		rest.Handle("DELETE", "/compute_nodes", "Delete the compute nodes of a workflow", DeleteAll(h.Store.ComputeNodes.DeleteAll)),
	}
}

func toComputeNode(n api.ComputeNode) compute.Node {
	return compute.Node{
		WorkflowID: n.WorkflowID, Hostname: n.Hostname, PID: n.PID, StartTime: n.StartTime, EndTime: n.EndTime,
		DurationSeconds: n.DurationSeconds, IsActive: Or(n.IsActive, false), NumCPUs: n.NumCPUs, MemoryGB: n.MemoryGB,
		NumGPUs: n.NumGPUs, NumNodes: n.NumNodes, TimeLimit: n.TimeLimit, SchedulerConfigID: n.SchedulerConfigID,
		Type: n.ComputeNodeType, Labels: n.Labels, Scheduler: raw(n.Scheduler), SampleCount: n.SampleCount,
		PeakCPUPercent: n.PeakCPUPercent, AvgCPUPercent: n.AvgCPUPercent,
		PeakMemoryBytes: n.PeakMemoryBytes, AvgMemoryBytes: n.AvgMemoryBytes,
	}
}

func fromComputeNode(n compute.Node) api.ComputeNode {
	return api.ComputeNode{
		ID: &n.ID, WorkflowID: n.WorkflowID, Hostname: n.Hostname, PID: n.PID, StartTime: n.StartTime, EndTime: n.EndTime,
		DurationSeconds: n.DurationSeconds, IsActive: &n.IsActive, NumCPUs: n.NumCPUs, MemoryGB: n.MemoryGB,
		NumGPUs: n.NumGPUs, NumNodes: n.NumNodes, TimeLimit: n.TimeLimit, SchedulerConfigID: n.SchedulerConfigID,
		ComputeNodeType: n.Type, Labels: n.Labels, Scheduler: n.Scheduler, SampleCount: n.SampleCount,
		PeakCPUPercent: n.PeakCPUPercent, AvgCPUPercent: n.AvgCPUPercent,
		PeakMemoryBytes: n.PeakMemoryBytes, AvgMemoryBytes: n.AvgMemoryBytes,
	}
}

func (h computeNodes) createComputeNode(r *rest.Request[rest.None, api.ComputeNode]) (api.ComputeNode, error) {
	n, err := h.Store.ComputeNodes.Create(r.Context(), toComputeNode(r.Body))
	return fromComputeNode(n), err
}

type computeNodeListParams struct {
	WorkflowPageParams
	Hostname               *string `query:"hostname" doc:"a part of the name, in any case"`
	IsActive               *bool   `query:"is_active"`
	ScheduledComputeNodeID *int64  `query:"scheduled_compute_node_id" doc:"scheduler.scheduler_id"`
}

func (h computeNodes) listComputeNodes(r *rest.Request[computeNodeListParams, rest.None], page store.Page) ([]compute.Node, int64, error) {
	return h.Store.ComputeNodes.List(r.Context(), store.ComputeNodeFilter{
		WorkflowID: r.Params.WorkflowID, Hostname: r.Params.Hostname, IsActive: r.Params.IsActive,
		ScheduledComputeNodeID: r.Params.ScheduledComputeNodeID,
	}, page)
}

func (h computeNodes) updateComputeNode(r *rest.Request[IDParams, api.ComputeNode]) (api.ComputeNode, error) {
	b := &r.Body
	n, err := h.Store.ComputeNodes.Update(r.Context(), r.Params.ID, b.WorkflowID, compute.NodeUpdate{
		Hostname: &b.Hostname, PID: &b.PID, StartTime: &b.StartTime, EndTime: b.EndTime, DurationSeconds: b.DurationSeconds,
		IsActive: b.IsActive, NumCPUs: &b.NumCPUs, MemoryGB: &b.MemoryGB, NumGPUs: &b.NumGPUs, NumNodes: &b.NumNodes,
		TimeLimit: b.TimeLimit, SchedulerConfigID: b.SchedulerConfigID, Type: &b.ComputeNodeType, Scheduler: raw(b.Scheduler),
		SampleCount: b.SampleCount, PeakCPUPercent: b.PeakCPUPercent, AvgCPUPercent: b.AvgCPUPercent,
		PeakMemoryBytes: b.PeakMemoryBytes, AvgMemoryBytes: b.AvgMemoryBytes,
	})
	return fromComputeNode(n), err
}
