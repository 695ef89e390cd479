package server

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func (s *Server) actionRoutes() []route {
	return []route{
		handle("POST", "/workflows/{id}/actions", "Create an action", s.createAction),
		handle("GET", "/workflows/{id}/actions", "List the actions of a workflow", s.listActions, runnersOwnWorkflow),
		handle("GET", "/workflows/{id}/actions/pending", "List the triggered actions that nobody has claimed", s.pendingActions),
		handle("PUT", "/workflows/{id}/actions/{action_id}", "Overlay an action's config by the keys of the body", s.updateAction),
		handle("DELETE", "/workflows/{id}/actions/{action_id}", "Delete an action", s.deleteAction),
		handle("POST", "/workflows/{id}/actions/{action_id}/claim", "Claim an action; one caller alone gets it", s.claimAction, conflict409, runnersOwnWorkflow),
	}
}

func fromAction(a workflow.ActionRecord) api.Action {
	return api.Action{
		ID: &a.ID, WorkflowID: a.WorkflowID, TriggerType: a.TriggerType, ActionType: a.ActionType, ActionConfig: api.Object(a.Config),
		JobIDs: a.JobIDs, TriggerCount: &a.TriggerCount, RequiredTriggers: &a.RequiredTriggers, Executed: &a.Executed,
		ExecutedAt: a.ExecutedAt, ExecutedBy: a.ExecutedBy, Persistent: &a.Persistent, IsRecovery: &a.IsRecovery,
	}
}

func (s *Server) createAction(r *request[idParams, api.Action]) (api.Action, error) {
	b := &r.Body
	a, err := s.Store.CreateAction(r.Context(), workflow.ActionRecord{
		WorkflowID: r.Params.ID, TriggerType: b.TriggerType, ActionType: b.ActionType, Config: json.RawMessage(b.ActionConfig),
		JobIDs: b.JobIDs, TriggerCount: or(b.TriggerCount, 0), Executed: or(b.Executed, false),
		ExecutedAt: b.ExecutedAt, ExecutedBy: b.ExecutedBy, Persistent: or(b.Persistent, false), IsRecovery: or(b.IsRecovery, false),
	})
	wire := fromAction(a)
	wire.RequiredTriggers = new(or(b.RequiredTriggers, 1)) // torc echoes what was sent
	return wire, err
}

func (s *Server) listActions(r *request[idParams, none]) ([]api.Action, error) {
	actions, err := s.Store.Actions(r.Context(), r.Params.ID)
	return each(actions, fromAction), err
}

type pendingActionParams struct {
	idParams
	TriggerTypes []string `query:"trigger_type" doc:"only these; may be repeated"`
}

func (s *Server) pendingActions(r *request[pendingActionParams, none]) ([]api.Action, error) {
	actions, err := s.Store.Actions(r.Context(), r.Params.ID)
	if err != nil {
		return nil, err
	}
	pending := []api.Action{}
	for _, a := range actions {
		wanted := len(r.Params.TriggerTypes) == 0 || slices.Contains(r.Params.TriggerTypes, a.TriggerType)
		if wanted && a.IsPending() {
			pending = append(pending, fromAction(a))
		}
	}
	return pending, nil
}

type actionParams struct {
	idParams
	ActionID int64 `path:"action_id"`
}

func (s *Server) updateAction(r *request[actionParams, json.RawMessage]) (api.Action, error) {
	a, err := s.Store.UpdateActionConfig(r.Context(), r.Params.ID, r.Params.ActionID, r.Body)
	return fromAction(a), err
}

func (s *Server) deleteAction(r *request[actionParams, none]) (api.Message, error) {
	err := s.Store.DeleteAction(r.Context(), r.Params.ID, r.Params.ActionID)
	return api.Message{Message: "Action deleted"}, err
}

func (s *Server) claimAction(r *request[actionParams, api.ClaimActionRequest]) (api.ClaimAction, error) {
	err := s.Store.ClaimAction(r.Context(), r.Params.ID, r.Params.ActionID, r.Body.ComputeNodeID)
	if workflow.CodeOf(err) == workflow.CodeConflict {
		err = &httpError{status: http.StatusConflict, detail: api.ErrorDetail{Message: err.Error(), Claimed: new(false)}}
	}
	return api.ClaimAction{ActionID: r.Params.ActionID, Success: true}, err
}
