package server

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/internal/peer"
	"github.com/torc-slurm/torc-slurm/internal/peer/peertest"
	"github.com/torc-slurm/torc-slurm/server/access"
)

// address returns where a daemon listens on TCP, in the format of peertest.
func address(t *testing.T, e Endpoint) string {
	t.Helper()
	u, err := url.Parse(e.URL)
	if err != nil {
		t.Fatal(err)
	}
	return "tcp!" + u.Host + "|" + api.BasePath + "/ping"
}

// openSocket makes the socket of a daemon accessible for everybody, as if its folder were
// not closed, and returns its address in the format of peertest.
func openSocket(t *testing.T, e Endpoint) string {
	t.Helper()
	for path, mode := range map[string]os.FileMode{filepath.Dir(e.Socket): 0o755, e.Socket: 0o777} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	return "unix!" + e.Socket + "|" + api.BasePath + "/ping"
}

// temporary sets the temporary directory to one that others can read.
func temporary(t *testing.T) {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "torc-test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", dir)
}

// unknownPeer is a kernel that does not name the caller.
func unknownPeer(net.Conn) (uint32, error) { return 0, peer.ErrUnknown }

// A daemon answers the user who runs it, and nobody else.
func TestDaemonAnswersItsUserAlone(t *testing.T) {
	temporary(t)
	var log strings.Builder
	d := startDaemon(t, func(o *DaemonOptions) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	e := d.Endpoint()
	for _, header := range []string{"", "Bearer of a former daemon", "Bearer " + e.Token} {
		if got := ping(t, e, header); got != 200 {
			t.Errorf("its user with %q: %d, want 200", header, got)
		}
	}
	for _, at := range []string{address(t, e), openSocket(t, e)} {
		other := peertest.Start(t, "request", at)
		for _, header := range []string{"", "Bearer " + e.Token} { // a stolen token does not help
			if got := other.Step(header); !strings.HasPrefix(got, "closed without an answer") {
				t.Errorf("another user at %s: %s", at, got)
			}
		}
	}
	d.Stop()
	if err := d.Wait(); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(log.String(), "another user's connection was closed"); n != 1 || !strings.Contains(log.String(), fmt.Sprint("uid=", peertest.User)) {
		t.Errorf("%d lines about four connections of a user in\n%s", n, &log)
	}
}

// A shared daemon decides about other users by their credentials.
func TestSharedDaemonAsksOthersForCredentials(t *testing.T) {
	temporary(t)
	d := startDaemon(t, func(o *DaemonOptions) { o.Shared, o.Token = true, "right" })
	e := d.Endpoint()
	for header, want := range map[string]int{"": 200, "Bearer right": 200, "Bearer wrong": 401} {
		if got := ping(t, e, header); got != want {
			t.Errorf("its user with %q: %d, want %d", header, got, want)
		}
	}
	for _, at := range []string{address(t, e), openSocket(t, e)} {
		other := peertest.Start(t, "request", at)
		for header, want := range map[string]string{"": "401", "Bearer wrong": "401", "Bearer right": "200", "Basic Ym9iOnJpZ2h0": "200"} {
			if got := other.Step(header); !strings.HasPrefix(got, want) {
				t.Errorf("another user at %s with %q: %s, want %s", at, header, got, want)
			}
		}
	}
}

// The users of an authentication file have passwords of their own.
func TestSharedDaemonWithPasswords(t *testing.T) {
	temporary(t)
	hash, err := access.HashPassword("right", access.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	passwords, err := access.ParsePasswords([]byte("bob:" + hash + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	d := startDaemon(t, func(o *DaemonOptions) { o.Shared, o.Passwords, o.PasswordsKept = true, passwords, time.Minute })
	e := d.Endpoint()
	other := peertest.Start(t, "request", address(t, e))
	for header, want := range map[string]string{
		"": "401", "Basic Ym9iOndyb25n": "401", "Basic Ym9iOnJpZ2h0": "200", "Basic ZXZlOnJpZ2h0": "401", "Bearer right": "401",
	} {
		if got := other.Step(header); !strings.HasPrefix(got, want) {
			t.Errorf("another user with %q: %s, want %s", header, got, want)
		}
	}
	for header, want := range map[string]int{"": 200, "Basic Ym9iOndyb25n": 401, "Basic Ym9iOnJpZ2h0": 200} {
		if got := ping(t, e, header); got != want {
			t.Errorf("its user with %q: %d, want %d", header, got, want)
		}
	}
}

// If the kernel does not name the caller, as in some sandboxes, the token decides.
func TestDaemonInASandboxWantsItsToken(t *testing.T) {
	var log strings.Builder
	d := startDaemon(t, func(o *DaemonOptions) {
		o.Log = slog.New(slog.NewTextHandler(&log, nil))
		o.PeerUID = unknownPeer
	})
	e, err := ReadEndpoint(d.o.EndpointPath)
	if err != nil {
		t.Fatal(err)
	}
	if e != d.Endpoint() {
		t.Errorf("endpoint file has %+v, the daemon %+v", e, d.Endpoint())
	}
	if got := ping(t, e, "Bearer "+e.Token); got != 200 {
		t.Errorf("with the token: %d", got)
	}
	for _, wrong := range []string{"", "Bearer ", "Bearer x" + e.Token, "Basic Og=="} {
		if got := ping(t, e, wrong); got != 401 {
			t.Errorf("with %q: %d, want 401", wrong, got)
		}
	}
	d.Stop()
	if err := d.Wait(); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(log.String(), "the kernel does not report the calling user"); n != 1 || !strings.Contains(log.String(), TokenPath(d.o.EndpointPath)) {
		t.Errorf("%d lines about the sandbox in\n%s", n, &log)
	}
}

// A failed query of the kernel, which others may cause, admits nobody.
func TestDaemonThatCannotAskClosesTheConnection(t *testing.T) {
	d := startDaemon(t, func(o *DaemonOptions) {
		o.PeerUID = func(net.Conn) (uint32, error) { return 0, errors.New("too many open files") }
	})
	u, err := url.Parse(d.Endpoint().URL)
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", u.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if n, err := c.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("read %d bytes, %v; want a closed connection", n, err)
	}
}
