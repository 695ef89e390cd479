package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/runner"
	"github.com/torc-slurm/torc-slurm/server"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// fakeDaemon answers every call with a status, and tells its version if that is
// 200.
func fakeDaemon(t *testing.T, status int, version string) *httptest.Server {
	t.Helper()
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer hidden" {
			t.Errorf("%s came without the secret", r.URL)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(api.VersionInfo{Version: version})
	}))
	t.Cleanup(s.Close)
	return s
}

// moveTo writes the endpoint file of a daemon, whose API is below a path.
func (l *nodeLink) moveTo(t *testing.T, daemon *httptest.Server, path string) {
	t.Helper()
	sum := sha256.Sum256(daemon.Certificate().Raw)
	text, err := json.Marshal(server.Endpoint{NodeURL: daemon.URL + path, Fingerprint: hex.EncodeToString(sum[:])})
	if err == nil {
		err = os.WriteFile(l.endpoint, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func newTestLink(t *testing.T) *nodeLink {
	t.Helper()
	dir := t.TempDir()
	l := &nodeLink{endpoint: filepath.Join(dir, "endpoint.json"), secret: filepath.Join(dir, "secret"), log: slog.New(slog.DiscardHandler)}
	if err := os.WriteFile(l.secret, []byte("hidden\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.close)
	return l
}

func TestLinkFollowsTheDaemon(t *testing.T) {
	first, second := fakeDaemon(t, http.StatusOK, "first"), fakeDaemon(t, http.StatusOK, "second")
	stranger := fakeDaemon(t, http.StatusUnauthorized, "")
	l := newTestLink(t)
	says := func(want string) {
		t.Helper()
		info, err := l.Version(t.Context())
		if err != nil || info.Version != want {
			t.Errorf("version %+v, %v, want %q", info, err, want)
		}
	}
	l.moveTo(t, first, "")
	says("first")
	l.moveTo(t, second, "")
	says("first") // it is there
	first.Close()
	says("second")
	l.moveTo(t, stranger, "")
	says("second")
	l.client = nil // as a new runner
	if _, err := l.Version(t.Context()); exitStatus(err) != exitRefused {
		t.Errorf("a daemon that does not know the secret: %v", err)
	}
	l.moveTo(t, second, "")
	says("second") // somebody else had its port
}

func TestLinkWithoutASecret(t *testing.T) {
	l := newTestLink(t)
	l.moveTo(t, fakeDaemon(t, http.StatusOK, "first"), "")
	if err := os.Remove(l.secret); err != nil {
		t.Fatal(err)
	}
	if _, err := arrive(t.Context(), l, time.Hour, l.log); workflow.CodeOf(err) != workflow.CodeForbidden {
		t.Errorf("error %v", err)
	}
}

// TestArriveGivesUp has a runner wait for a daemon that is not there.
func TestArriveGivesUp(t *testing.T) {
	l := newTestLink(t)
	gone := fakeDaemon(t, http.StatusOK, "")
	l.moveTo(t, gone, "")
	gone.Close()
	if _, err := arrive(t.Context(), l, 0, l.log); exitStatus(err) != exitUnreachable {
		t.Errorf("error %v", err)
	}
}

// Requests of jobs find the daemon where it is now, with their bodies, and once
// each.
func TestLinkForwards(t *testing.T) {
	var got []string
	daemon := func(name string, status int) *httptest.Server {
		s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil || r.Header.Get("Authorization") != "Bearer hidden" {
				t.Errorf("%s with %q: %v", r.URL, r.Header.Get("Authorization"), err)
			}
			got = append(got, fmt.Sprintf("%s %s %s", name, r.URL.Path, body))
			w.WriteHeader(status)
		}))
		t.Cleanup(s.Close)
		return s
	}
	first, second := daemon("first", http.StatusOK), daemon("second", http.StatusOK)
	stranger := daemon("stranger", http.StatusUnauthorized)
	l := newTestLink(t)
	sends := func(method, body string, want ...string) {
		t.Helper()
		got = nil
		r := httptest.NewRequestWithContext(t.Context(), method, api.BasePath+"/files", strings.NewReader(body))
		resp, err := l.Forward(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if !slices.Equal(got, want) {
			t.Errorf("%s %s came as %q, want %q", method, body, got, want)
		}
	}
	at := func(s *httptest.Server) { l.moveTo(t, s, "/base") }
	at(first)
	sends("POST", "one", "first /base/files one")
	first.Close()
	l.client.Close() // a request may not be sent twice over a connection that ended
	at(second)
	sends("POST", "two", "second /base/files two")
	at(stranger)
	l.client = nil // as a new runner
	sends("GET", "", "stranger /base/files ")
	at(second)
	sends("GET", "", "stranger /base/files ", "second /base/files ")
	second.Close()
	if _, err := l.Forward(httptest.NewRequestWithContext(t.Context(), "GET", api.BasePath+"/ping", nil)); !client.IsUnreachable(err) {
		t.Errorf("a daemon that is away: %v", err)
	}
}

// What a batch script has to reach a server is not for jobs.
func TestGatewayEnvironment(t *testing.T) {
	a := &app{Environment: Environment{Environ: []string{
		"HOME=/h", "TORC_PASSWORD=p", "TORC_TOKEN_FILE=/t", "TORC_COOKIE_HEADER=c", "TORC_TLS_CA_CERT=/c", "TORC_TLS_INSECURE=1", "TORC_HOME=/th",
	}}}
	o := runner.Options{WorkflowID: 1, Log: slog.New(slog.DiscardHandler)}
	jobs, err := a.openGateway(&o, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer jobs.Close()
	if want := []string{"HOME=/h", "TORC_HOME=/th"}; !slices.Equal(o.Environ, want) || o.APIURL != jobs.URL() {
		t.Errorf("jobs have %q and are told %s, want %q", o.Environ, o.APIURL, want)
	}
}
