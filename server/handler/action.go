package handler

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server/rest"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/action"
)

// actions handles requests about actions of workflows.
type actions struct{ *Deps }

func (h actions) routes() []rest.Route {
	return []rest.Route{
		rest.Handle("POST", "/workflows/{id}/actions", "Create an action", h.createAction),
		rest.Handle("GET", "/workflows/{id}/actions", "List the actions of a workflow", h.listActions, rest.RunnersOwnWorkflow),
		rest.Handle("GET", "/workflows/{id}/actions/pending", "List the triggered actions that are not claimed", h.pendingActions),
		rest.Handle("PUT", "/workflows/{id}/actions/{action_id}", "Merge the keys of the body into an action's config", h.updateAction),
		rest.Handle("DELETE", "/workflows/{id}/actions/{action_id}", "Delete an action", h.deleteAction),
		rest.Handle("POST", "/workflows/{id}/actions/{action_id}/claim", "Claim an action; exactly one caller gets it", h.claimAction, rest.Conflict409, rest.RunnersOwnWorkflow),
	}
}

func fromAction(a action.Record) api.Action {
	return api.Action{
		ID: &a.ID, WorkflowID: a.WorkflowID, TriggerType: a.TriggerType, ActionType: a.ActionType, ActionConfig: api.Object(a.Config),
		JobIDs: a.JobIDs, TriggerCount: &a.TriggerCount, RequiredTriggers: &a.RequiredTriggers, Executed: &a.Executed,
		ExecutedAt: a.ExecutedAt, ExecutedBy: a.ExecutedBy, Persistent: &a.Persistent, IsRecovery: &a.IsRecovery, Status: a.Status(),
	}
}

func (h actions) createAction(r *rest.Request[IDParams, api.Action]) (api.Action, error) {
	b := &r.Body
	a, err := h.Store.Actions.Create(r.Context(), action.Record{
		WorkflowID: r.Params.ID, TriggerType: b.TriggerType, ActionType: b.ActionType, Config: json.RawMessage(b.ActionConfig),
		JobIDs: b.JobIDs, TriggerCount: Or(b.TriggerCount, 0), Executed: Or(b.Executed, false),
		ExecutedAt: b.ExecutedAt, ExecutedBy: b.ExecutedBy, Persistent: Or(b.Persistent, false), IsRecovery: Or(b.IsRecovery, false),
	})
	wire := fromAction(a)
	wire.RequiredTriggers = new(Or(b.RequiredTriggers, 1)) // torc echoes what was sent
	return wire, err
}

func (h actions) listActions(r *rest.Request[IDParams, rest.None]) ([]api.Action, error) {
	actions, err := h.Store.Actions.List(r.Context(), r.Params.ID)
	return Each(actions, fromAction), err
}

type pendingActionParams struct {
	IDParams
	TriggerTypes []string `query:"trigger_type" doc:"only these; may be repeated"`
}

func (h actions) pendingActions(r *rest.Request[pendingActionParams, rest.None]) ([]api.Action, error) {
	actions, err := h.Store.Actions.List(r.Context(), r.Params.ID)
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
	IDParams
	ActionID int64 `path:"action_id"`
}

func (h actions) updateAction(r *rest.Request[actionParams, json.RawMessage]) (api.Action, error) {
	a, err := h.Store.Actions.UpdateConfig(r.Context(), r.Params.ID, r.Params.ActionID, r.Body)
	return fromAction(a), err
}

func (h actions) deleteAction(r *rest.Request[actionParams, rest.None]) (api.Message, error) {
	err := h.Store.Actions.Delete(r.Context(), r.Params.ID, r.Params.ActionID)
	return api.Message{Message: "Action deleted"}, err
}

func (h actions) claimAction(r *rest.Request[actionParams, api.ClaimActionRequest]) (api.ClaimAction, error) {
	err := h.Store.Actions.Claim(r.Context(), r.Params.ID, r.Params.ActionID, r.Body.ComputeNodeID)
	if workflow.CodeOf(err) == workflow.CodeConflict {
		err = &rest.HTTPError{Status: http.StatusConflict, Detail: api.ErrorDetail{Message: err.Error(), Claimed: new(false)}}
	}
	return api.ClaimAction{ActionID: r.Params.ActionID, Success: true}, err
}
