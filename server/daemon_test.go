package server

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/workflow"
)

func startDaemon(t *testing.T, change func(*DaemonOptions)) *Daemon {
	t.Helper()
	dir := t.TempDir()
	o := DaemonOptions{Database: filepath.Join(dir, "torc.db"), EndpointPath: filepath.Join(dir, "endpoint.json"), User: "me"}
	if change != nil {
		change(&o)
	}
	d, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		d.Stop()
		if err := d.Wait(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func ping(t *testing.T, e Endpoint, header string) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, e.URL+"/ping", nil)
	if err != nil {
		t.Fatal(err)
	}
	if header != "" {
		req.Header.Set("Authorization", header)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}

func TestDaemonRefusesOtherHostsWithoutEncryption(t *testing.T) {
	for _, shared := range []bool{false, true} {
		_, err := Start(t.Context(), DaemonOptions{Database: filepath.Join(t.TempDir(), "x.db"), Host: "0.0.0.0", Shared: shared, Token: "right"})
		if workflow.CodeOf(err) != workflow.CodeInvalid {
			t.Errorf("on all addresses, shared %v: %v", shared, err)
		}
	}
}

func TestDaemonRefusesASecondOne(t *testing.T) {
	d := startDaemon(t, nil)
	o := d.o
	o.EndpointPath = filepath.Join(t.TempDir(), "other.json")
	_, err := Start(t.Context(), o)
	if workflow.CodeOf(err) != workflow.CodeConflict {
		t.Errorf("a second daemon of the same database: %v", err)
	}
	if _, err := ReadEndpoint(o.EndpointPath); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the rejected daemon left an endpoint file: %v", err)
	}
}

func TestDaemonRefusesATakenPort(t *testing.T) {
	d := startDaemon(t, nil)
	u, err := url.Parse(d.Endpoint().URL)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		t.Fatal(err)
	}
	_, err = Start(t.Context(), DaemonOptions{
		Database: filepath.Join(t.TempDir(), "x.db"), EndpointPath: filepath.Join(t.TempDir(), "e.json"), Port: port,
	})
	if workflow.CodeOf(err) != workflow.CodeConflict {
		t.Errorf("on a port that is in use: %v", err)
	}
}

func TestDaemonLeavesWhenIdle(t *testing.T) {
	d := startDaemon(t, func(o *DaemonOptions) { o.IdleTimeout = 50 * time.Millisecond })
	if err := d.Wait(); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadEndpoint(d.o.EndpointPath); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the endpoint file still exists: %v", err)
	}
}

func TestLeases(t *testing.T) {
	l := newLeases(time.Minute)
	start := time.Now()
	first := l.Renew(1, 1, start)
	second := l.Renew(1, 2, start)
	select {
	case <-first:
	default:
		t.Error("a newer turn did not supersede the older one")
	}
	if got := l.Renew(1, 2, start); got != second {
		t.Error("a repeated turn superseded itself")
	}
	if got := l.silent(start.Add(time.Minute)); len(got) != 0 {
		t.Errorf("silent within the period: %v", got)
	}
	if got := l.silent(start.Add(61 * time.Second)); got[1] != 61*time.Second {
		t.Errorf("silent after the period: %v", got)
	}
	l.Renew(1, 3, start)
	l.suspect(1)
	if got := l.silent(start); len(got) != 1 {
		t.Errorf("a broken connection is not checked: %v", got)
	}
	l.Forget(1)
	if l.any() {
		t.Error("a runner that left is still known")
	}
}

func TestProcessExists(t *testing.T) {
	if processExists(1 << 30) {
		t.Error("an impossible process exists")
	}
	if !processExists(1) {
		t.Error("the first process does not exist")
	}
}

// After an orderly end the token is the same. After a kill somebody else may have
// listened on the port and got the token from a client that relied on the port.
func TestTheTokenChangesWithAnUncleanEnd(t *testing.T) {
	dir := t.TempDir()
	o := DaemonOptions{Database: filepath.Join(dir, "torc.db"), EndpointPath: filepath.Join(dir, "endpoint.json")}
	run := func() Endpoint {
		d, err := Start(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		d.Stop()
		if err := d.Wait(); err != nil {
			t.Fatal(err)
		}
		return d.Endpoint()
	}
	first := run()
	if got := run(); got.Token != first.Token {
		t.Errorf("after an orderly end: token %s, was %s", got.Token, first.Token)
	}
	// This is how a killed daemon leaves it.
	if err := writeEndpoint(o.EndpointPath, first); err != nil {
		t.Fatal(err)
	}
	if got := run(); got.Token == first.Token || got.URL != first.URL {
		t.Errorf("after a kill: %s with token %s, was %s with %s; want another token at the same port", got.URL, got.Token, first.URL, first.Token)
	}
	if text, err := os.ReadFile(TokenPath(o.EndpointPath)); err != nil || string(text) == first.Token {
		t.Errorf("the token file has %q, %v", text, err)
	}
}

func TestATokenThatOthersCouldReadIsNotUsedAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "endpoint.json")
	if err := os.WriteFile(TokenPath(path), []byte("known"), 0o644); err != nil {
		t.Fatal(err)
	}
	d := startDaemon(t, func(o *DaemonOptions) { o.EndpointPath = path })
	if d.Endpoint().Token == "known" {
		t.Error("the token is that of the readable file")
	}
}

// Without a folder for a socket there is the port.
func TestDaemonWithoutASocket(t *testing.T) {
	var log strings.Builder
	d := startDaemon(t, func(o *DaemonOptions) {
		o.Sockets.Runtime, o.Sockets.State, o.Sockets.Temp = "/gone/run", "/gone/state", []string{"/gone/tmp"}
		o.Log = slog.New(slog.NewTextHandler(&log, nil))
	})
	e, err := ReadEndpoint(d.o.EndpointPath)
	if err != nil || e.Socket != "" {
		t.Errorf("endpoint %+v, %v", e, err)
	}
	if got := ping(t, e, ""); got != http.StatusOK {
		t.Errorf("on the port: %d", got)
	}
	d.Stop()
	if err := d.Wait(); err != nil {
		t.Fatal(err)
	}
	if strings.Count(log.String(), "no folder for a Unix socket") != 1 || !strings.Contains(log.String(), "/gone/state") || !strings.Contains(log.String(), e.URL) {
		t.Error(log.String())
	}
}
