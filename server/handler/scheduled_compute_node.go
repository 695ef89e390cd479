package handler

import (
	"strconv"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server/rest"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// scheduledNodes handles requests about scheduled compute nodes.
type scheduledNodes struct{ *Deps }

func (h scheduledNodes) routes() []rest.Route {
	return []rest.Route{
		rest.Handle("POST", "/scheduled_compute_nodes", "Record an allocation that was requested", h.createScheduled),
		rest.Handle("GET", "/scheduled_compute_nodes", "List the allocations of a workflow", List(h.listScheduled, fromScheduled)),
		rest.Handle("GET", "/scheduled_compute_nodes/{id}", "Get an allocation", ByID(h.Store.ScheduledComputeNodes.Get, fromScheduled)),
		rest.Handle("PUT", "/scheduled_compute_nodes/{id}", "Replace an allocation's fields", h.updateScheduled),
		rest.Handle("DELETE", "/scheduled_compute_nodes/{id}", "Delete the record of an allocation", ByID(h.Store.ScheduledComputeNodes.Delete, fromScheduled)),
		rest.Handle("DELETE", "/scheduled_compute_nodes", "Delete the records of a workflow's allocations", DeleteAll(h.Store.ScheduledComputeNodes.DeleteAll)),
	}
}

func toScheduled(n api.ScheduledComputeNode) compute.ScheduledNode {
	return compute.ScheduledNode{
		ID: Or(n.ID, 0), WorkflowID: n.WorkflowID, SchedulerID: n.SchedulerID, SchedulerConfigID: n.SchedulerConfigID,
		SchedulerType: n.SchedulerType, Status: n.Status,
	}
}

func fromScheduled(n compute.ScheduledNode) api.ScheduledComputeNode {
	return api.ScheduledComputeNode{
		ID: &n.ID, WorkflowID: n.WorkflowID, SchedulerID: n.SchedulerID, SchedulerConfigID: n.SchedulerConfigID,
		SchedulerType: n.SchedulerType, Status: n.Status,
	}
}

func (h scheduledNodes) createScheduled(r *rest.Request[rest.None, api.ScheduledComputeNode]) (api.ScheduledComputeNode, error) {
	n, err := h.Store.ScheduledComputeNodes.Create(r.Context(), toScheduled(r.Body))
	return fromScheduled(n), err
}

type scheduledListParams struct {
	WorkflowPageParams
	SchedulerID       *string `query:"scheduler_id" doc:"the Slurm job id"`
	SchedulerConfigID *string `query:"scheduler_config_id"`
	Status            *string `query:"status"`
}

// looseInt returns an id as torc reads it: 0, which no row has, for text that is no
// number.
func looseInt(text *string) *int64 {
	if text == nil {
		return nil
	}
	n, err := strconv.ParseInt(*text, 10, 64)
	if err != nil {
		n = 0
	}
	return &n
}

func (h scheduledNodes) listScheduled(r *rest.Request[scheduledListParams, rest.None], page store.Page) ([]compute.ScheduledNode, int64, error) {
	return h.Store.ScheduledComputeNodes.List(r.Context(), store.ScheduledFilter{
		WorkflowID: r.Params.WorkflowID, SchedulerID: looseInt(r.Params.SchedulerID),
		SchedulerConfigID: looseInt(r.Params.SchedulerConfigID), Status: r.Params.Status,
	}, page)
}

func (h scheduledNodes) updateScheduled(r *rest.Request[IDParams, api.ScheduledComputeNode]) (api.ScheduledComputeNode, error) {
	n := toScheduled(r.Body)
	n.ID = r.Params.ID
	n, err := h.Store.ScheduledComputeNodes.Update(r.Context(), n)
	return fromScheduled(n), err
}
