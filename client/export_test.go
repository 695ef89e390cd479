package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/torc-slurm/torc-slurm/api"
)

// The functions of this file are called by tests only.

// IsNotFound reports whether err says that the subject of a call does not exist.
func IsNotFound(err error) bool {
	var e *APIError
	return errors.As(err, &e) && e.Status == http.StatusNotFound
}

// Create adds a user data record to a workflow.
func (c UserData) Create(ctx context.Context, v *api.UserData) (*api.UserData, error) {
	return call[api.UserData](ctx, c, http.MethodPost, "/user_data", v)
}

// Delete removes a compute node and returns it.
func (c ComputeNodes) Delete(ctx context.Context, id int64) (*api.ComputeNode, error) {
	return call[api.ComputeNode](ctx, c, http.MethodDelete, fmt.Sprintf("/compute_nodes/%d", id), nil)
}

// Delete removes a scheduled compute node and returns it.
func (c ScheduledComputeNodes) Delete(ctx context.Context, id int64) (*api.ScheduledComputeNode, error) {
	return call[api.ScheduledComputeNode](ctx, c, http.MethodDelete, fmt.Sprintf("/scheduled_compute_nodes/%d", id), nil)
}

// Get returns an event.
func (c Events) Get(ctx context.Context, id int64) (*api.Event, error) {
	return get[api.Event](ctx, c, "/events/%d", id)
}

// Active returns the queued or running task of a workflow, nil if there is
// none.
func (c Tasks) Active(ctx context.Context, workflowID int64) (*api.Task, error) {
	out, err := get[api.ActiveTask](ctx, c, "/workflows/%d/active_task", workflowID)
	if err != nil {
		return nil, err
	}
	return out.Task, nil
}

// IsUninitialized reports whether no job of a workflow has been initialized.
func (c Workflows) IsUninitialized(ctx context.Context, id int64) (bool, error) {
	out, err := get[api.IsUninitialized](ctx, c, "/workflows/%d/is_uninitialized", id)
	return err == nil && out.IsUninitialized, err
}

// ResetStatus begins a new run of a workflow. It is a conflict while jobs, runners or
// allocations are active, unless force is set.
func (c Workflows) ResetStatus(ctx context.Context, id int64, force bool) (*api.Workflow, error) {
	path := fmt.Sprintf("/workflows/%d/reset_status", id) + encode(values("force", force))
	return call[api.Workflow](ctx, c, http.MethodPost, path, nil)
}
