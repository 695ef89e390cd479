package client

import (
	"context"
	"net/http"

	"github.com/torc-slurm/torc-slurm/api"
)

// Ping checks that the server answers.
func (c *Client) Ping(ctx context.Context) (*api.Ping, error) {
	return get[api.Ping](ctx, c, "/ping")
}

// ReloadAuth makes a shared server read its authentication file again.
func (c *Client) ReloadAuth(ctx context.Context) (*api.ReloadedAuth, error) {
	return call[api.ReloadedAuth](ctx, c, http.MethodPost, "/admin/reload-auth", nil)
}

// Version returns the versions of the server and of its API.
func (c *Client) Version(ctx context.Context) (*api.VersionInfo, error) {
	return get[api.VersionInfo](ctx, c, "/version")
}
