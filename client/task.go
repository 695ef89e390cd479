package client

import (
	"context"

	"github.com/torc-slurm/torc-slurm/api"
)

// Get returns a background task.
func (c Tasks) Get(ctx context.Context, id int64) (*api.Task, error) {
	return get[api.Task](ctx, c, "/tasks/%d", id)
}
