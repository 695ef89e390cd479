package noderunner

import (
	"context"
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
	"testing/synctest"
	"time"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/jobgateway"
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
	if _, err := l.Version(t.Context()); cli.ExitStatus(err) != cli.ExitRefused {
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
	if _, err := awaitServer(t.Context(), l, 0, l.log); workflow.CodeOf(err) != workflow.CodeForbidden {
		t.Errorf("error %v", err)
	}
}

// TestArriveGivesUp has a runner wait for a daemon that is not there.
func TestArriveGivesUp(t *testing.T) {
	l := newTestLink(t)
	gone := fakeDaemon(t, http.StatusOK, "")
	l.moveTo(t, gone, "")
	gone.Close()
	if _, err := awaitServer(t.Context(), l, 0, l.log); cli.ExitStatus(err) != cli.ExitUnreachable {
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
	a := &cli.Factory{Environment: cli.Environment{Environ: []string{
		"HOME=/h", "TORC_PASSWORD=p", "TORC_TOKEN_FILE=/t", "TORC_COOKIE_HEADER=c", "TORC_TLS_CA_CERT=/c", "TORC_TLS_INSECURE=1", "TORC_HOME=/th",
	}}}
	o := runner.Options{WorkflowID: 1, Log: slog.New(slog.DiscardHandler)}
	jobs, err := jobgateway.Open(a, &o, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer jobs.Close()
	if want := []string{"HOME=/h", "TORC_HOME=/th"}; !slices.Equal(o.Environ, want) || o.APIURL != jobs.URL() {
		t.Errorf("jobs have %q and are told %s, want %q", o.Environ, o.APIURL, want)
	}
}

// away is a daemon that does not answer until a time, and refuses until another.
type away struct {
	back, knows time.Time
	err         error // until it is back; nil: it is not there
	calls       int
}

func (a *away) Version(context.Context) (*api.VersionInfo, error) {
	a.calls++
	switch now := time.Now(); {
	case now.Before(a.back) && a.err != nil:
		return nil, a.err
	case now.Before(a.back):
		return nil, workflow.Errorf(workflow.CodeUnavailable, "connection refused")
	case now.Before(a.knows):
		return nil, &client.APIError{Status: http.StatusUnauthorized, Message: "who are you?"}
	}
	return &api.VersionInfo{}, nil
}

// TestArriveWaits: a daemon that is away when the allocation starts, or that does
// not know it yet, is waited for, and found within five seconds.
func TestArriveWaits(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	tests := []struct {
		name         string
		away, unsure time.Duration
		err          error
		patience     time.Duration
		found        bool
		within       time.Duration
	}{
		{"away", 4 * time.Minute, 0, nil, 5 * time.Minute, true, 4*time.Minute + 5*time.Second},
		{"away for too long", 10 * time.Minute, 0, nil, 5 * time.Minute, false, 5*time.Minute + 5*time.Second},
		{"starting", 40 * time.Second, 0, &client.APIError{Status: http.StatusServiceUnavailable}, 5 * time.Minute, true, 45 * time.Second},
		{"does not know us yet", 20 * time.Second, 40 * time.Second, nil, 5 * time.Minute, true, 45 * time.Second},
		{"somebody else has its port", 50 * time.Second, 0, &client.APIError{Status: http.StatusNotFound}, 5 * time.Minute, true, 55 * time.Second},
		{"does not want us", time.Hour, 0, &client.APIError{Status: http.StatusUnauthorized}, 5 * time.Minute, false, 65 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				d := &away{back: began.Add(tt.away), knows: began.Add(tt.unsure), err: tt.err}
				_, err := awaitServer(t.Context(), d, tt.patience, log)
				if took := time.Since(began); (err == nil) != tt.found || took > tt.within {
					t.Errorf("%v after %s", err, took)
				}
				if most := int(tt.within/(3*time.Second)) + 4; d.calls > most {
					t.Errorf("%d calls, at most %d", d.calls, most)
				}
			})
		})
	}
}

func TestPatience(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	for _, tt := range []struct{ left, want time.Duration }{
		{10 * time.Minute, time.Minute}, {24 * time.Hour, 15 * time.Minute}, {-time.Minute, 0},
	} {
		if got := patienceUntil(now.Add(tt.left), now); got != tt.want {
			t.Errorf("of %s left: %s, want %s", tt.left, got, tt.want)
		}
	}
	if got := patienceUntil(time.Time{}, now); got != 15*time.Minute {
		t.Errorf("without an end: %s", got)
	}
}
