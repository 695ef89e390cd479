package server

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
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
	if err := c.SetReadDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	return c
}

// pingSocket pings a daemon on its Unix socket.
func pingSocket(t *testing.T, e Endpoint) {
	t.Helper()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", e.Socket)
	}}
	defer transport.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
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

// TestHalfOpenRequests opens more connections than there are slots, without credentials.
// In the meantime the owner gets answers, and the connections end.
func TestHalfOpenRequests(t *testing.T) {
	d := startDaemon(t, func(o *DaemonOptions) { o.openFiles, o.grace = 128, time.Second })
	e := d.Endpoint()
	var half []net.Conn
	for range 400 {
		half = append(half, dialDaemon(t, e, "GET "+api.BasePath+"/ping HTTP/1.1\r\nHost: localhost\r\n"))
		if len(half)%100 == 0 {
			if got := ping(t, e, "Bearer "+e.Token); got != http.StatusOK {
				t.Errorf("the owner, beside %d half-open requests: %d", len(half), got)
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

// TestAnnouncedBodiesWithoutCredentials: requests without credentials are answered
// without waiting for their bodies.
func TestAnnouncedBodiesWithoutCredentials(t *testing.T) {
	d := startDaemon(t, func(o *DaemonOptions) { o.PeerUID = unknownPeer })
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

// TestSilentBody: the daemon waits for a body that arrives slowly, but not for one that
// does not arrive. Both are from clients with credentials.
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

// TestHalfOpenRequestsOverTLS is the same on the listener for other hosts: without a
// handshake, and after one. A client that has presented credentials keeps its connection.
func TestHalfOpenRequestsOverTLS(t *testing.T) {
	d := startDaemon(t, func(o *DaemonOptions) { o.openFiles, o.grace, o.Nodes.Host = 128, time.Second, "127.0.0.1" })
	e := d.Endpoint()
	u, err := url.Parse(e.NodeURL)
	if err != nil {
		t.Fatal(err)
	}
	trusting := &tls.Config{InsecureSkipVerify: true}
	// over returns a function that sends a request over one connection, and reports
	// whether it was reused.
	over := func(http2 bool) (ask func(token string) (status int, reused bool)) {
		transport := &http.Transport{TLSClientConfig: trusting.Clone(), ForceAttemptHTTP2: http2}
		t.Cleanup(transport.CloseIdleConnections)
		return func(token string) (status int, reused bool) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) { reused = got.Reused }})
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, e.NodeURL+"/ping", nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer "+token)
			resp, err := transport.RoundTrip(req)
			if err != nil {
				t.Errorf("the owner, http2 %v: %v", http2, err)
				return 0, reused
			}
			defer resp.Body.Close()
			if _, err := io.Copy(io.Discard, resp.Body); err != nil {
				t.Error(err)
			}
			if want := map[bool]int{true: 2, false: 1}[http2]; resp.ProtoMajor != want {
				t.Errorf("HTTP/%d, want %d", resp.ProtoMajor, want)
			}
			return resp.StatusCode, reused
		}
	}
	kept := map[bool]func(string) (int, bool){false: over(false), true: over(true)}
	for http2, ask := range kept {
		if status, _ := ask(e.Token); status != http.StatusOK {
			t.Errorf("the owner, http2 %v: %d", http2, status)
		}
	}
	var half []net.Conn
	for range 200 {
		c, err := net.Dial("tcp", u.Host)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		if len(half)%2 == 0 {
			c = tls.Client(c, trusting.Clone())
			if _, err := io.WriteString(c, "GET "+api.BasePath+"/ping HTTP/1.1\r\nHost: localhost\r\n"); err != nil {
				t.Fatal(err)
			}
		}
		if half = append(half, c); len(half)%50 == 0 {
			if status, _ := over(len(half)%100 == 0)(e.Token); status != http.StatusOK {
				t.Errorf("the owner, beside %d half-open connections: %d", len(half), status)
			}
		}
	}
	if status, _ := over(false)("wrong"); status != http.StatusUnauthorized {
		t.Errorf("a wrong token: %d", status)
	}
	for i, c := range half {
		if err := c.SetReadDeadline(time.Now().Add(2 * time.Minute)); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) || err == nil {
			t.Fatalf("connection %d of %d has not ended: %v", i, len(half), err)
		}
	}
	for http2, ask := range kept { // its grace time has long passed
		if status, reused := ask(e.Token); status != http.StatusOK || !reused {
			t.Errorf("the owner's previous connection, http2 %v: %d, reused %v", http2, status, reused)
		}
	}
	closed := d.server.Metrics.closed
	if late, crowded := testutil.ToFloat64(closed.WithLabelValues("late")), testutil.ToFloat64(closed.WithLabelValues("crowded")); late == 0 || crowded == 0 || late+crowded != 200 {
		t.Errorf("counted %v late and %v crowded connections, want 200", late, crowded)
	}
}
