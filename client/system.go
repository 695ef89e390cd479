package client

import (
	"context"

	"github.com/torc-slurm/torc-slurm/api"
)

// Ping asks whether the server answers.
func (c *Client) Ping(ctx context.Context) (*api.Ping, error) {
	return get[api.Ping](ctx, c, "/ping")
}

// Version asks for the versions of the server and of its API.
func (c *Client) Version(ctx context.Context) (*api.VersionInfo, error) {
	return get[api.VersionInfo](ctx, c, "/version")
}
