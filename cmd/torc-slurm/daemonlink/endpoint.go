package daemonlink

import (
	"context"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"sync"
	"time"

	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/server"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// pingTime is how long a daemon on this host may take to answer a ping.
const pingTime = 5 * time.Second

// DialEndpoint connects to the daemon of an endpoint file, which may run on another host. It
// returns nil if there is no such file, or the daemon does not answer.
func DialEndpoint(ctx context.Context, a *cli.Factory, path string) (*cli.Connection, error) {
	e, err := server.ReadEndpoint(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, server.OtherCluster(path, slurm.ClusterName(a.Getenv))
	}
	if workflow.CodeOf(err) == workflow.CodeInternal {
		return nil, workflow.Errorf(workflow.CodeForbidden, "%v", err).WithHint("set TORC_HOME to a writable folder, preferably on a local disk")
	}
	if err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	if err := server.OtherCluster(path, clusterHere(ctx, a, e)); err != nil {
		return nil, err
	}
	if e.Host == host && e.BootID != server.BootID() || e.Host != host && e.NodeURL == "" {
		return nil, nil
	}
	c, err := endpointConnection(a, e, path)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, pingTime)
	defer cancel()
	if _, err := c.Probe.Ping(ctx); client.IsUnreachable(err) {
		c.CloseIdle()
		return nil, nil
	}
	return c, nil
}

// clusterHere returns the name of this host's cluster; empty if unknown. It asks Slurm only
// if no file has the name and the daemon runs on another machine.
func clusterHere(ctx context.Context, a *cli.Factory, e server.Endpoint) string {
	name := slurm.ClusterName(a.Getenv)
	if name != "" || e.Cluster == "" || e.BootID == server.BootID() {
		return name
	}
	config, err := a.SlurmClient().Config(ctx)
	if err != nil {
		a.Log.Debug("Slurm does not say which cluster this is", "error", err)
	}
	return config.Cluster
}

// endpointConnection returns the connection to an endpoint: to its socket, or from another
// host to its address for others.
func endpointConnection(a *cli.Factory, e server.Endpoint, path string) (*cli.Connection, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	c := &cli.Connection{URL: e.URL, Disconnect: func() error { return nil }}
	o := client.Options{URL: e.URL, Locate: locate(e, path), Token: e.Token, TokenFile: server.TokenPath(path), Log: a.Log}
	if e.Host != host {
		c.URL, o.URL, o.Locate = e.NodeURL, e.NodeURL, nil
		if o.CAFingerprint = e.Fingerprint; o.CAFingerprint != "" {
			c.CACert = server.CertificatePath(server.TLSPath(path))
		}
	}
	return c, c.Open(o)
}

// locate returns a function that reads the daemon's current address from its endpoint file,
// since it may have been restarted on this host. Without the file the address is e's.
func locate(e server.Endpoint, path string) func() client.Place {
	var mu sync.Mutex
	return func() client.Place {
		mu.Lock()
		defer mu.Unlock()
		if now, err := server.ReadEndpoint(path); err == nil && now.Host == e.Host {
			e = now
		}
		at := client.Place{Socket: e.Socket}
		if u, err := url.Parse(e.URL); err == nil {
			at.Address = u.Host
		}
		return at
	}
}

// elsewhere adds to the error of a daemon that could not be started that one is known on
// another host, which may be the reason.
func elsewhere(path string, failure error) error {
	e, err := server.ReadEndpoint(path)
	var here *workflow.Error
	if err != nil || !errors.As(failure, &here) {
		return failure
	}
	if host, err := os.Hostname(); err != nil || e.Host == host {
		return failure
	}
	return workflow.Errorf(here.Code, "%s; it was last on %s (process %d) and does not answer from here", here.Message, e.Host, e.PID).
		WithHint("work on %s, or end it there (kill %d) to have it started here\n%s", e.Host, e.PID, here.Hint)
}
