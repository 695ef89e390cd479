package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/server"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// pingTime is how long a daemon on this host may take to show that it lives.
const pingTime = 5 * time.Second

// dialEndpoint connects to the daemon of an endpoint file. It returns nil if
// there is none, or none that lives on this host.
func (a *app) dialEndpoint(ctx context.Context, path string) (*connection, error) {
	e, err := server.ReadEndpoint(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if workflow.CodeOf(err) == workflow.CodeInternal {
		return nil, workflow.Errorf(workflow.CodeForbidden, "%v", err).WithHint("set TORC_HOME to a folder that you can write to, best on a local disk")
	}
	if err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	if e.Host != host || e.BootID != server.BootID() {
		return nil, nil
	}
	c, err := a.endpointConnection(e, path)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, pingTime)
	defer cancel()
	if _, err := c.probe.Ping(ctx); client.IsUnreachable(err) {
		c.closeIdle()
		return nil, nil
	}
	return c, nil
}

// endpointConnection makes the connection that an endpoint describes.
func (a *app) endpointConnection(e server.Endpoint, path string) (*connection, error) {
	c := &connection{URL: e.URL, close: func() error { return nil }}
	if e.Token != "" {
		c.TokenFile = server.TokenPath(path)
	}
	return c, c.open(client.Options{URL: e.URL, UnixSocket: e.Socket, Token: e.Token, Log: a.log})
}
