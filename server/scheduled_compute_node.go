package server

import (
	"strconv"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func (s *Server) scheduledComputeNodeRoutes() []route {
	return []route{
		handle("POST", "/scheduled_compute_nodes", "Note an allocation that was asked for", s.createScheduled),
		handle("GET", "/scheduled_compute_nodes", "List the allocations of a workflow", s.listScheduled),
		handle("GET", "/scheduled_compute_nodes/{id}", "Get an allocation", s.getScheduled),
		handle("PUT", "/scheduled_compute_nodes/{id}", "Replace an allocation's fields", s.updateScheduled),
		handle("DELETE", "/scheduled_compute_nodes/{id}", "Forget an allocation", s.deleteScheduled),
		handle("DELETE", "/scheduled_compute_nodes", "Forget the allocations of a workflow", s.deleteAllScheduled),
	}
}

func toScheduled(n api.ScheduledComputeNode) workflow.ScheduledComputeNode {
	return workflow.ScheduledComputeNode{
		ID: or(n.ID, 0), WorkflowID: n.WorkflowID, SchedulerID: n.SchedulerID, SchedulerConfigID: n.SchedulerConfigID,
		SchedulerType: n.SchedulerType, Status: n.Status,
	}
}

func fromScheduled(n workflow.ScheduledComputeNode) api.ScheduledComputeNode {
	return api.ScheduledComputeNode{
		ID: &n.ID, WorkflowID: n.WorkflowID, SchedulerID: n.SchedulerID, SchedulerConfigID: n.SchedulerConfigID,
		SchedulerType: n.SchedulerType, Status: n.Status,
	}
}

func (s *Server) createScheduled(r *request[none, api.ScheduledComputeNode]) (api.ScheduledComputeNode, error) {
	n, err := s.Store.CreateScheduledComputeNode(r.Context(), toScheduled(r.Body))
	return fromScheduled(n), err
}

type scheduledListParams struct {
	workflowPageParams
	SchedulerID       *string `query:"scheduler_id" doc:"the Slurm job id"`
	SchedulerConfigID *string `query:"scheduler_config_id"`
	Status            *string `query:"status"`
}

// looseInt reads an id as torc does: text that is no number is 0, which no row
// has.
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

func (s *Server) listScheduled(r *request[scheduledListParams, none]) (api.Page[api.ScheduledComputeNode], error) {
	page, err := r.Params.page()
	if err != nil {
		return api.Page[api.ScheduledComputeNode]{}, err
	}
	nodes, total, err := s.Store.ScheduledComputeNodes(r.Context(), store.ScheduledFilter{
		WorkflowID: r.Params.WorkflowID, SchedulerID: looseInt(r.Params.SchedulerID),
		SchedulerConfigID: looseInt(r.Params.SchedulerConfigID), Status: r.Params.Status,
	}, page)
	return pageOf(page, nodes, total, fromScheduled), err
}

func (s *Server) getScheduled(r *request[idParams, none]) (api.ScheduledComputeNode, error) {
	n, err := s.Store.ScheduledComputeNode(r.Context(), r.Params.ID)
	return fromScheduled(n), err
}

func (s *Server) updateScheduled(r *request[idParams, api.ScheduledComputeNode]) (api.ScheduledComputeNode, error) {
	n := toScheduled(r.Body)
	n.ID = r.Params.ID
	n, err := s.Store.UpdateScheduledComputeNode(r.Context(), n)
	return fromScheduled(n), err
}

func (s *Server) deleteScheduled(r *request[idParams, none]) (api.ScheduledComputeNode, error) {
	n, err := s.Store.DeleteScheduledComputeNode(r.Context(), r.Params.ID)
	return fromScheduled(n), err
}

func (s *Server) deleteAllScheduled(r *request[workflowParams, none]) (api.DeleteCount, error) {
	n, err := s.Store.DeleteScheduledComputeNodes(r.Context(), r.Params.WorkflowID)
	return api.DeleteCount{Count: n}, err
}
