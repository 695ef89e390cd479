package client

import (
	"context"

	"github.com/torc-slurm/torc-slurm/api"
)

// Task returns a background task.
func (c *Client) Task(ctx context.Context, id int64) (*api.Task, error) {
	return get[api.Task](ctx, c, "/tasks/%d", id)
}

// ActiveTask returns the queued or running task of a workflow, nil if there is
// none.
func (c *Client) ActiveTask(ctx context.Context, workflowID int64) (*api.Task, error) {
	out, err := get[api.ActiveTask](ctx, c, "/workflows/%d/active_task", workflowID)
	if err != nil {
		return nil, err
	}
	return out.Task, nil
}
