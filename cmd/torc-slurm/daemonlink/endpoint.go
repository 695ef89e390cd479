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

// pingTime is how long a daemon on this host may take to show that it lives.
const pingTime = 5 * time.Second

// DialEndpoint connects to the daemon of an endpoint file, which may run on
// another host. It returns nil if there is none, or none that answers.
func DialEndpoint(ctx context.Context, a *cli.Factory, path string) (*cli.Connection, error) {
	e, err := server.ReadEndpoint(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, server.OtherCluster(path, slurm.ClusterName(a.Getenv))
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

// clusterHere is the name of the cluster that this host belongs to, empty if
// nobody knows. Slurm is asked only where no file says it and the daemon runs on
// another machine.
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

// endpointConnection makes the connection that an endpoint describes: to its
// socket, or, on another host, to where it listens for others.
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

// locate returns what says where the daemon of an endpoint file is, this one or the
// next one on this host. As long as there is no file it is where it was.
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

// elsewhere says of a daemon that could not be started that one is known on
// another host, which may be why.
func elsewhere(path string, failure error) error {
	e, err := server.ReadEndpoint(path)
	var here *workflow.Error
	if err != nil || !errors.As(failure, &here) {
		return failure
	}
	if host, err := os.Hostname(); err != nil || e.Host == host {
		return failure
	}
	return workflow.Errorf(here.Code, "%s; it was last on %s (process %d), where it does not answer from here", here.Message, e.Host, e.PID).
		WithHint("work on %s, or end it there (kill %d) to have it started here\n%s", e.Host, e.PID, here.Hint)
}
