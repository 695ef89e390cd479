package server

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/internal/trustedfile"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// NodeAccess configures how compute nodes reach the daemon. The zero value is right for
// most clusters.
type NodeAccess struct {
	// Host is the address for other hosts, on which the daemon listens from the start; if
	// it is empty, it is that from which this host reaches the nodes.
	Host string
	// Towards is a host that must reach the daemon from the start.
	Towards string
	Port    int // 0: a free one, the same again after a restart
}

// nodeAccess is the listener for compute nodes, once it is needed.
type nodeAccess struct {
	mu   sync.Mutex
	open bool
}

// OpenForNodes lets runners on compute nodes reach the daemon, and returns the endpoint
// that they use. towards is the address of a node, or of anything on their network;
// nothing is sent to it, only the route to it is looked up. A second call changes
// nothing.
func (d *Daemon) OpenForNodes(towards string) (Endpoint, error) {
	d.nodes.mu.Lock()
	defer d.nodes.mu.Unlock()
	if d.nodes.open {
		return d.endpoint, nil
	}
	host := d.o.Nodes.Host
	if host == "" {
		var err error
		if host, err = addressTowards(towards); err != nil {
			return Endpoint{}, err
		}
	}
	return d.endpoint, d.openForNodes(host, d.o.Nodes.Port)
}

// openAtOnce listens for other hosts from the start, if that is configured.
func (d *Daemon) openAtOnce() error {
	if d.o.Nodes.Host == "" && d.o.Nodes.Towards == "" {
		return nil
	}
	_, err := d.OpenForNodes(d.o.Nodes.Towards)
	return err
}

// reopenForNodes listens where a previous daemon of this host did, since its runners may
// be alive.
func (d *Daemon) reopenForNodes(former Endpoint) error {
	if former.NodeURL == "" || former.Host != d.endpoint.Host {
		return nil
	}
	u, err := url.Parse(former.NodeURL)
	if err != nil {
		return fmt.Errorf("address of the previous daemon: %w", err)
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		return fmt.Errorf("address of the previous daemon: %w", err)
	}
	d.nodes.mu.Lock()
	defer d.nodes.mu.Unlock()
	err = d.openForNodes(cmp.Or(d.o.Nodes.Host, u.Hostname()), cmp.Or(d.o.Nodes.Port, port))
	if workflow.CodeOf(err) == workflow.CodeConflict && d.o.Nodes.Port == 0 {
		// Runners read the endpoint file again when they cannot connect.
		return d.openForNodes(cmp.Or(d.o.Nodes.Host, u.Hostname()), 0)
	}
	return err
}

// keepCluster records which cluster the daemon has allocations of, for commands on other
// hosts and for later daemons.
func (d *Daemon) keepCluster(name string) error {
	if name == "" || d.o.EndpointPath == "" || d.o.InProcess {
		return nil
	}
	if err := trustedfile.Write(ClusterPath(d.o.EndpointPath), []byte(name+"\n"), 0o600); err != nil {
		return err
	}
	d.nodes.mu.Lock()
	defer d.nodes.mu.Unlock()
	if d.endpoint.Cluster == name {
		return nil
	}
	d.endpoint.Cluster = name
	return writeEndpoint(d.o.EndpointPath, d.endpoint)
}

// openForNodes listens and records that in the endpoint file; nodes.mu is held.
func (d *Daemon) openForNodes(host string, port int) error {
	cert, err := ownCertificate(TLSPath(d.o.EndpointPath), host, time.Now())
	if err != nil {
		return err
	}
	l, err := listenTCP(host, port)
	if err != nil {
		return err
	}
	e := d.endpoint
	e.NodeURL = "https://" + l.Addr().String() + api.BasePath
	e.Fingerprint = fingerprint(cert)
	if err := writeEndpoint(d.o.EndpointPath, e); err != nil {
		return errors.Join(err, l.Close())
	}
	d.accept(tls.NewListener(d.limit(l, d.shares.Nodes), &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2", "http/1.1"}}))
	d.endpoint, d.nodes.open = e, true
	d.o.Log.Info("listening for compute nodes", "url", e.NodeURL)
	return nil
}

// TLSPath returns the path of the file with the certificate and key of the daemon of an
// endpoint file.
func TLSPath(endpointPath string) string { return filepath.Join(filepath.Dir(endpointPath), "tls.pem") }

// addressTowards returns this host's address on the route to another one. No packet is
// sent.
func addressTowards(target string) (string, error) {
	c, err := net.Dial("udp", net.JoinHostPort(target, "9"))
	if err != nil {
		return "", workflow.Errorf(workflow.CodeUnavailable, "no route from this host to the compute node %s: %v", target, err).
			WithHint("configure the address of this host for compute nodes: server.node_host in the configuration, or serve --node-host ADDRESS")
	}
	defer c.Close() //nolint:errcheck // nothing was sent
	host, _, err := net.SplitHostPort(c.LocalAddr().String())
	return host, err
}
