package server

import (
	"strings"
	"testing"

	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func nodeClient(t *testing.T, e Endpoint, fingerprint string) *client.Client {
	t.Helper()
	c, err := client.New(client.Options{URL: e.NodeURL, Token: e.Token, CAFingerprint: fingerprint, Retries: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestDaemonForNodes(t *testing.T) {
	d := startDaemon(t, nil)
	if e := d.Endpoint(); e.NodeURL != "" {
		t.Errorf("listens on %s before a compute node needs it", e.NodeURL)
	}
	e, err := d.OpenForNodes("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := nodeClient(t, e, e.Fingerprint).Ping(t.Context()); err != nil {
		t.Errorf("with the certificate's fingerprint: %v", err)
	}
	if _, err := nodeClient(t, e, strings.Repeat("0", 64)).Ping(t.Context()); err == nil {
		t.Error("a client that expects another certificate accepted it")
	}
	trusting, err := client.New(client.Options{URL: e.NodeURL, Token: e.Token, CACert: CertificatePath(TLSPath(d.o.EndpointPath)), Retries: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer trusting.Close()
	if _, err := trusting.Ping(t.Context()); err != nil {
		t.Errorf("with the certificate as authority: %v", err)
	}
	again, err := d.OpenForNodes("192.0.2.1")
	if err != nil || again != e {
		t.Errorf("second call: %+v, %v; want %+v", again, err, e)
	}
	written, err := ReadEndpoint(d.o.EndpointPath)
	if err != nil || written.NodeURL != e.NodeURL || written.Fingerprint != e.Fingerprint {
		t.Errorf("endpoint file has %+v, %v", written, err)
	}
}

// Runners of a daemon that died find the next one at the same address.
func TestDaemonForNodesAfterCrash(t *testing.T) {
	first := startDaemon(t, nil)
	before, err := first.OpenForNodes("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	first.Stop()
	if err := first.Wait(); err != nil {
		t.Fatal(err)
	}
	if err := writeEndpoint(first.o.EndpointPath, before); err != nil { // as a kill leaves it
		t.Fatal(err)
	}
	second := startDaemon(t, func(o *DaemonOptions) { o.Database, o.EndpointPath = first.o.Database, first.o.EndpointPath })
	if got := second.Endpoint(); got.NodeURL != before.NodeURL || got.Fingerprint != before.Fingerprint {
		t.Errorf("the next daemon is at %s with %s, want %s with %s", got.NodeURL, got.Fingerprint, before.NodeURL, before.Fingerprint)
	}
}

func TestAddressTowardsNowhere(t *testing.T) {
	if _, err := addressTowards("no such node"); workflow.CodeOf(err) != workflow.CodeUnavailable {
		t.Errorf("got %v, want code unavailable", err)
	}
}

// A daemon on another host does not try to listen at the address of the previous one,
// which it does not have.
func TestDaemonForNodesOfAnotherHost(t *testing.T) {
	first := startDaemon(t, nil)
	first.Stop()
	if err := first.Wait(); err != nil {
		t.Fatal(err)
	}
	gone := first.Endpoint()
	gone.Host, gone.NodeURL = "login1", "https://192.0.2.1:40000/torc-service/v1"
	if err := writeEndpoint(first.o.EndpointPath, gone); err != nil {
		t.Fatal(err)
	}
	second := startDaemon(t, func(o *DaemonOptions) {
		o.Database, o.EndpointPath, o.Nodes.Towards = first.o.Database, first.o.EndpointPath, "127.0.0.1"
	})
	if got := second.Endpoint().NodeURL; !strings.HasPrefix(got, "https://127.0.0.1:") {
		t.Errorf("the daemon that took over is at %q", got)
	}
}
