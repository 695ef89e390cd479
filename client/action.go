package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/torc-slurm/torc-slurm/api"
)

// List lists the actions of a workflow.
func (c Actions) List(ctx context.Context, workflowID int64) ([]api.Action, error) {
	var actions []api.Action
	path := fmt.Sprintf("/workflows/%d/actions", workflowID)
	if err := c.do(ctx, http.MethodGet, path, nil, &actions); err != nil {
		return nil, err
	}
	return actions, nil
}

// Actions returns the actions of a workflow, like Actions.List.
func (c Runners) Actions(ctx context.Context, workflowID int64) ([]api.Action, error) {
	return c.actions.List(ctx, workflowID)
}

// ClaimAction claims an action for a runner and reports whether the runner has to carry it
// out; false if another runner was first. It may be repeated.
func (c Runners) ClaimAction(ctx context.Context, workflowID, actionID, runnerID int64) (bool, error) {
	path := fmt.Sprintf("/workflows/%d/actions/%d/claim", workflowID, actionID)
	err := c.do(repeatable(ctx), http.MethodPost, path, api.ClaimActionRequest{ComputeNodeID: &runnerID}, nil)
	var refusal *APIError
	if !errors.As(err, &refusal) || refusal.Status != http.StatusConflict {
		return err == nil, err
	}
	// An earlier try may have claimed it, and its answer was lost.
	actions, err := c.actions.List(ctx, workflowID)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(actions, func(a api.Action) bool {
		return *a.ID == actionID && a.ExecutedBy != nil && *a.ExecutedBy == runnerID
	}), nil
}

// Update changes the given keys of an action's configuration.
func (c Actions) Update(ctx context.Context, workflowID, actionID int64, config api.Object) (*api.Action, error) {
	path := fmt.Sprintf("/workflows/%d/actions/%d", workflowID, actionID)
	return call[api.Action](ctx, c, http.MethodPut, path, config)
}

// Delete removes an action.
func (c Actions) Delete(ctx context.Context, workflowID, actionID int64) (*api.Message, error) {
	path := fmt.Sprintf("/workflows/%d/actions/%d", workflowID, actionID)
	return call[api.Message](ctx, c, http.MethodDelete, path, nil)
}

// Suppress marks a pending action as carried out without carrying it out.
func (c Actions) Suppress(ctx context.Context, workflowID, actionID int64) error {
	path := fmt.Sprintf("/workflows/%d/actions/%d/claim", workflowID, actionID)
	return c.do(ctx, http.MethodPost, path, api.ClaimActionRequest{}, nil)
}
