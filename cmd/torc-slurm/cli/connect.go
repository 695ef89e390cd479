package cli

import (
	"context"
	"errors"

	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/audit"
)

// Connection is a connection to a server.
type Connection struct {
	*client.Client
	Probe      *client.Client // with few retries, for the first call
	URL        string         // of the API on TCP, for jobs
	CACert     string         // file with the server's certificate, for jobs; empty if it has none
	Disconnect func() error   // called at the end of the program
	// Keep, if not nil, keeps the server running until the context ends; callers that
	// depend on the server for long run it.
	Keep func(context.Context)
}

// Open creates the clients of a connection.
func (c *Connection) Open(o client.Options) (err error) {
	o.Door = audit.CLI
	if c.Client, err = client.New(o); err != nil {
		return err
	}
	o.Retries = 1
	c.Probe, err = client.New(o)
	return err
}

// CloseIdle closes idle network connections.
func (c *Connection) CloseIdle() {
	c.Close()
	c.Probe.Close()
}

// DefaultDatabase is the database of --standalone.
const DefaultDatabase = "torc_output/torc.db"

// Connect returns the connection to the server: the one that was named, one within this
// process, or the user's own, which it starts if it does not run. The connection lasts until
// the program ends.
func (a *Factory) Connect(ctx context.Context) (*Connection, error) {
	if a.connected != nil {
		return a.connected, nil
	}
	c, err := a.dial(ctx, a, true)
	if err != nil {
		return nil, err
	}
	a.connected = c
	return c, a.checkVersion(ctx, c)
}

// Reconnect is Connect for a program that has lost its server: it connects anew, and starts
// the user's own server again.
func (a *Factory) Reconnect(ctx context.Context) (*Connection, error) {
	if err := a.close(); err != nil {
		return nil, err
	}
	a.connected = nil
	return a.Connect(ctx)
}

// ConnectRunning is like Connect, and returns an error instead of starting a server.
func (a *Factory) ConnectRunning(ctx context.Context) (*Connection, error) {
	if a.connected != nil {
		return a.connected, nil
	}
	c, err := a.dial(ctx, a, false)
	a.connected = c
	return c, err
}

// checkVersion compares the server's version of the API with ours. It returns an error if
// the server is unreachable or has another major version; an unreachable server is found
// here before a command retries its requests.
func (a *Factory) checkVersion(ctx context.Context, c *Connection) error {
	info, err := c.Probe.Version(ctx)
	switch {
	case client.IsUnreachable(err), errors.Is(err, context.Canceled):
		return err
	case err != nil:
		a.Log.Debug("could not check the version of the server", "error", err)
		return nil
	case a.Flags.skipVersionCheck:
		return nil
	}
	switch client.CompareAPIVersion(info.APIVersion) {
	case client.Incompatible:
		return &ExitError{Status: ExitFailed, Err: workflow.Errorf(workflow.CodeUnsupported,
			"the server has version %s of the API, this program %s", info.APIVersion, client.APIVersion).
			WithHint("use a program of the same major version, or --skip-version-check")}
	case client.OtherMinor:
		a.Note("warning: the server has version %s of the API, this program %s", info.APIVersion, client.APIVersion)
	}
	return nil
}
