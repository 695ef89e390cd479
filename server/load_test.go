package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/torc-slurm/torc-slurm/api"
)

// dialDaemon opens a connection to a daemon's TCP port and sends a text.
func dialDaemon(t *testing.T, e Endpoint, text string) net.Conn {
	t.Helper()
	u, err := url.Parse(e.URL)
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", u.Host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	if err := c.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return c
}

// pingSocket asks a daemon on its Unix socket.
func pingSocket(t *testing.T, e Endpoint) {
	t.Helper()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", e.Socket)
	}}
	defer transport.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, e.URL+"/ping", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+e.Token)
	resp, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("on the socket: %d", resp.StatusCode)
	}
}

// TestHalfOpenRequests opens more connections than there are places, without
// ever showing credentials. The owner is answered meanwhile, and they end.
func TestHalfOpenRequests(t *testing.T) {
	d := startDaemon(t, func(o *DaemonOptions) { o.openFiles, o.grace = 128, time.Second })
	e := d.Endpoint()
	var half []net.Conn
	for range 400 {
		half = append(half, dialDaemon(t, e, "GET "+api.BasePath+"/ping HTTP/1.1\r\nHost: localhost\r\n"))
		if len(half)%100 == 0 {
			if got := ping(t, e, "Bearer "+e.Token); got != http.StatusOK {
				t.Errorf("the owner beside %d half-open requests: %d", len(half), got)
			}
			pingSocket(t, e)
		}
	}
	for i, c := range half {
		if _, err := c.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) || err == nil {
			t.Fatalf("connection %d of %d has not ended: %v", i, len(half), err)
		}
	}
	closed := d.server.Metrics.closed
	if late, crowded := testutil.ToFloat64(closed.WithLabelValues("late")), testutil.ToFloat64(closed.WithLabelValues("crowded")); late == 0 || crowded == 0 || late+crowded != 400 {
		t.Errorf("counted %v late and %v crowded connections, want 400", late, crowded)
	}
}

// TestAnnouncedBodiesWithoutCredentials is answered without waiting for bodies.
func TestAnnouncedBodiesWithoutCredentials(t *testing.T) {
	d := startDaemon(t, func(o *DaemonOptions) { o.PeerUID = untold })
	for _, length := range []int{10, 1 << 20, 1 << 30} {
		c := dialDaemon(t, d.Endpoint(), fmt.Sprintf("POST %s/bulk_jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n{", api.BasePath, length))
		began := time.Now()
		text, err := io.ReadAll(c)
		if err != nil || !strings.HasPrefix(string(text), "HTTP/1.1 401 ") || !strings.Contains(string(text), "\r\nConnection: close\r\n") {
			t.Errorf("%d bytes announced: %q %v", length, text, err)
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("%d bytes announced: the connection ended after %s", length, took)
		}
	}
	if n := testutil.ToFloat64(d.server.Metrics.logins); n != 3 {
		t.Errorf("counted %v failed logins, want 3", n)
	}
}

// TestSilentBody waits for a body that comes slowly, and not for one that does
// not come. Both are from clients with credentials.
func TestSilentBody(t *testing.T) {
	d := startDaemon(t, func(o *DaemonOptions) { o.stall = 500 * time.Millisecond })
	head := func(path string, length int) string {
		return fmt.Sprintf("POST %s%s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n",
			api.BasePath, path, d.o.Token, length)
	}
	for _, path := range []string{"/workflows", "/workflows/1/initialize_jobs"} {
		c := dialDaemon(t, d.Endpoint(), head(path, 100)+"{")
		if text, err := io.ReadAll(c); err != nil || !strings.HasPrefix(string(text), "HTTP/1.1 408 ") {
			t.Errorf("a silent body of %s: %q %v", path, text, err)
		}
	}
	body := `{"name":"slow","user":"me"}`
	c := dialDaemon(t, d.Endpoint(), head("/workflows", len(body)))
	tick := time.NewTicker(60 * time.Millisecond) // 1.6 s in all
	defer tick.Stop()
	for i := range len(body) {
		<-tick.C
		if _, err := c.Write([]byte{body[i]}); err != nil {
			t.Fatal(err)
		}
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("a slow body: %s", resp.Status)
	}
}
