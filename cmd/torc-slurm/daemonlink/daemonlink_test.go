package daemonlink

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/server"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// factory is one whose home is a folder of the test's own; the variables are NAME=value.
func factory(t *testing.T, variables ...string) *cli.Factory {
	t.Helper()
	dir := t.TempDir()
	a := cli.New(cli.Environment{
		Args: []string{"torc-slurm"}, Dir: dir, Environ: append([]string{"HOME=" + dir, "USER=ann"}, variables...),
		Stdin: strings.NewReader(""), Stdout: &strings.Builder{}, Stderr: &strings.Builder{}, Now: time.Now, StopSignals: func() {},
	}, nil)
	a.Config = cli.DefaultConfig()
	t.Cleanup(a.StopSignals)
	return a
}

// endpoint writes the endpoint file of a daemon.
func endpoint(t *testing.T, path string, e server.Endpoint) {
	t.Helper()
	text, err := json.Marshal(e)
	if err := errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, text, 0o600)); err != nil {
		t.Fatal(err)
	}
}

func TestDatabaseName(t *testing.T) {
	for _, tt := range []struct{ named, variable, configured, want string }{
		{},
		{configured: "c.db", want: "c.db"},
		{variable: "v.db", configured: "c.db", want: "v.db"},
		{named: "n.db", variable: "v.db", want: "n.db"},
		{named: "sqlite:///data/n.db", want: "/data/n.db"},
		{named: "sqlite:n.db?mode=rwc", want: "n.db"},
		{named: "sqlite::memory:", want: InMemory},
		{named: "file::memory:?cache=shared", want: InMemory},
		{named: "file:x?mode=memory&cache=shared", want: InMemory},
	} {
		a := factory(t, "DATABASE_URL="+tt.variable)
		a.Config.Server.Database = tt.configured
		if got := DatabaseName(a, tt.named); got != tt.want {
			t.Errorf("%+v: %q", tt, got)
		}
	}
}

func TestDatabaseFiles(t *testing.T) {
	a := factory(t, "TORC_HOME=here")
	if got, want := OwnDatabase(a), filepath.Join(a.Dir, "here/torc.db"); got != want {
		t.Errorf("the own one is %s, want %s", got, want)
	}
	if got, err := ServeDatabase(a, ""); err != nil || got != OwnDatabase(a) {
		t.Errorf("of serve: %s, %v", got, err)
	}
	if got, err := ServeDatabase(a, "x/../y.db"); err != nil || got != filepath.Join(a.Dir, "y.db") {
		t.Errorf("of serve, named: %s, %v", got, err)
	}
	if got := StandaloneDatabase(a); got != filepath.Join(a.Dir, cli.DefaultDatabase) {
		t.Errorf("of --standalone: %s", got)
	}
	a.Flags.Database = "./z.db"
	if got := StandaloneDatabase(a); got != filepath.Join(a.Dir, "z.db") {
		t.Errorf("of --standalone --db: %s", got)
	}
}

// TestDial: which server is meant, without one that answers.
func TestDial(t *testing.T) {
	never := func(*cli.Factory, *slog.Logger) (server.DaemonOptions, error) {
		return server.DaemonOptions{}, errors.New("started")
	}
	for _, tt := range []struct {
		name, url string
		variables []string
		set       func(a *cli.Factory)
		want      string // a part of the error
		code      workflow.Code
	}{
		{name: "two servers", url: "http://a", set: func(a *cli.Factory) { a.Flags.Standalone = true }, want: "give one of them", code: workflow.CodeInternal},
		{name: "no daemon", want: "your daemon does not run", code: workflow.CodeUnavailable},
		{name: "no daemon of a database", set: func(a *cli.Factory) { a.Flags.Standalone = true }, want: "no server runs on", code: workflow.CodeUnavailable},
		{name: "no URL", url: "localhost:8080", want: "is not the URL of a server", code: workflow.CodeInternal},
		{name: "another scheme", variables: []string{"TORC_API_URL=ftp://a/b"}, want: `"ftp://a/b" is not the URL of a server`, code: workflow.CodeInternal},
		{name: "a token that is not there", variables: []string{"TORC_API_URL=http://a", "TORC_TOKEN_FILE=/nonexistent/token"}, want: "read the token of the server", code: workflow.CodeInternal},
	} {
		a := factory(t, tt.variables...)
		a.Flags.URL = tt.url
		if tt.set != nil {
			tt.set(a)
		}
		c, err := Dialer(never)(t.Context(), a, false)
		if c != nil || err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, %v", tt.name, c, err)
		}
		if tt.code == workflow.CodeUnavailable && workflow.CodeOf(err) != tt.code {
			t.Errorf("%s: %s", tt.name, workflow.CodeOf(err))
		}
	}
}

// TestDialURL: a server gets the credentials that are meant for it, and no others.
func TestDialURL(t *testing.T) {
	var header http.Header
	var path string
	listening := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header, path = r.Header, r.URL.Path
		_, _ = w.Write([]byte(`{"status":"ok"}`))
	}))
	defer listening.Close()
	const basic = "Basic YW5uOmJsdWU=" // ann:blue
	for _, tt := range []struct {
		name      string
		variables []string
		set       func(a *cli.Factory)
		path      string
		want      string
	}{
		{name: "none"},
		{name: "a path of its own", path: "/proxy/api/", want: ""},
		{name: "a password", variables: []string{"TORC_PASSWORD=blue"}, want: basic},
		{name: "a password before a variable", variables: []string{"TORC_PASSWORD=red"}, set: func(a *cli.Factory) { a.Flags.Password = "blue" }, want: basic},
		{name: "a typed password", set: func(a *cli.Factory) { a.Flags.PromptPassword, a.Stdin = true, strings.NewReader("blue\n") }, want: basic},
		{name: "a token, but a password", variables: []string{"TORC_TOKEN_FILE=$DIR/token", "TORC_PASSWORD=blue"}, want: basic},
	} {
		a := factory(t)
		if err := os.WriteFile(filepath.Join(a.Dir, "token"), []byte("secret\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, v := range tt.variables {
			a.Environ = append(a.Environ, strings.ReplaceAll(v, "$DIR", a.Dir))
		}
		if tt.set != nil {
			tt.set(a)
		}
		c, err := DialURL(a, listening.URL+tt.path)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		_, err = c.Probe.Ping(t.Context())
		c.CloseIdle()
		if got := header.Get("Authorization"); err != nil || got != tt.want {
			t.Errorf("%s: %q, %v; want %q", tt.name, got, err, tt.want)
		}
		wantPath := api.BasePath + "/ping"
		if tt.path != "" {
			wantPath = strings.TrimRight(tt.path, "/") + "/ping"
		}
		if path != wantPath {
			t.Errorf("%s: asked %s, want %s", tt.name, path, wantPath)
		}
	}
}

// TestTokenFor: the token is that of the file that a job is told of, or of the user's own
// daemon, which other servers do not get.
func TestTokenFor(t *testing.T) {
	const own = "http://127.0.0.1:8080" + api.BasePath
	a := factory(t)
	path := server.EndpointPath(a.Home())
	if file, token, err := tokenFor(a, own); file != "" || token != "" || err != nil {
		t.Errorf("without a daemon: %q, %q, %v", file, token, err)
	}
	endpoint(t, path, server.Endpoint{URL: own, NodeURL: "https://login1:9443" + api.BasePath, Token: "secret"})
	for address, want := range map[string]string{
		own: "secret", own + "/": "secret", "https://login1:9443" + api.BasePath: "secret", "http://127.0.0.1:8081" + api.BasePath: "", "https://evil" + api.BasePath: "",
	} {
		file, token, err := tokenFor(a, address)
		if wantFile := map[bool]string{true: server.TokenPath(path)}[want != ""]; token != want || file != wantFile || err != nil {
			t.Errorf("%s: %q, %q, %v", address, file, token, err)
		}
	}
	job := factory(t)
	tokenFile := filepath.Join(job.Dir, "token")
	if err := os.WriteFile(tokenFile, []byte("of a job\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	job.Environ = append(job.Environ, "TORC_TOKEN_FILE="+tokenFile)
	if file, token, err := tokenFor(job, "https://evil"); file != tokenFile || token != "of a job" || err != nil {
		t.Errorf("of a job: %q, %q, %v", file, token, err)
	}
}

// TestDialEndpoint: a file of a daemon that is gone, or out of reach, is none.
func TestDialEndpoint(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	listening := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"status":"ok"}`)) }))
	defer listening.Close()
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	for _, tt := range []struct {
		name  string
		e     server.Endpoint
		found bool
	}{
		{"on this host", server.Endpoint{URL: listening.URL + api.BasePath, Host: host, BootID: server.BootID()}, true},
		{"of an earlier boot", server.Endpoint{URL: listening.URL + api.BasePath, Host: host, BootID: "earlier"}, false},
		{"dead", server.Endpoint{URL: closed.URL + api.BasePath, Host: host, BootID: server.BootID()}, false},
		{"on another host", server.Endpoint{URL: listening.URL + api.BasePath, Host: "elsewhere", BootID: "other"}, false},
		{"on another host, open for nodes", server.Endpoint{URL: closed.URL, NodeURL: listening.URL + api.BasePath, Host: "elsewhere", BootID: "other"}, true},
	} {
		a := factory(t)
		path := server.EndpointPath(a.Home())
		endpoint(t, path, tt.e)
		c, err := DialEndpoint(t.Context(), a, path)
		if err != nil || (c != nil) != tt.found {
			t.Errorf("%s: %v, %v", tt.name, c, err)
		}
		if c != nil {
			c.CloseIdle()
		}
	}
}

func TestElsewhere(t *testing.T) {
	a := factory(t)
	path := server.EndpointPath(a.Home())
	failure := workflow.Errorf(workflow.CodeUnavailable, "your daemon could not be started").WithHint("see the log")
	if got := elsewhere(path, failure); !errors.Is(got, failure) {
		t.Errorf("without a file: %v", got)
	}
	endpoint(t, path, server.Endpoint{Host: "login2", PID: 77})
	message, hint := cli.ErrorText(elsewhere(path, failure))
	if !strings.Contains(message, "login2 (process 77)") || !strings.Contains(hint, "kill 77") || !strings.HasSuffix(hint, "see the log") {
		t.Errorf("%s; %s", message, hint)
	}
}

func TestDaemonEnvironment(t *testing.T) {
	got := daemonEnvironment([]string{"PATH=/bin", "TORC_PASSWORD=x", "TORC_JOB_ID=3", "TORC_SERVER__PORT=1", "TORC_FAKE_SBATCH=/x", "TORC_FAKES=1", "TORC_SLURM_FAILPOINTS=a"})
	if want := []string{"PATH=/bin", "TORC_SERVER__PORT=1", "TORC_FAKE_SBATCH=/x", "TORC_SLURM_FAILPOINTS=a"}; !slices.Equal(got, want) {
		t.Errorf("a daemon inherits %q", got)
	}
}

// TestStartServer: a server that listens says so in its first line.
func TestStartServer(t *testing.T) {
	for script, want := range map[string]string{
		"echo TORC_SERVER_PORT=8123":    "8123",
		"echo listening; exec sleep 60": "it ended: signal: killed",
		"exit 3":                        "it ended: exit status 3",
	} {
		port, err := StartServer(t.Context(), exec.Command("sh", "-c", script))
		if err != nil && err.Error() != want || err == nil && port != want {
			t.Errorf("%s: %q, %v; want %s", script, port, err, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := StartServer(ctx, exec.Command("sleep", "60")); err == nil || err.Error() != "it took too long" {
		t.Errorf("one that hangs: %v", err)
	}
	if _, err := StartServer(t.Context(), exec.Command("/nonexistent/torc-slurm")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a program: %v", err)
	}
}

// TestLockStart: one program at a time starts the daemon.
func TestLockStart(t *testing.T) {
	home := t.TempDir()
	unlock, err := lockStart(t.Context(), home)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := lockStart(ctx, home); workflow.CodeOf(err) != workflow.CodeUnavailable {
		t.Errorf("while another one has the lock: %v", err)
	}
	unlock()
	again, err := lockStart(ctx, home)
	if err != nil {
		t.Fatalf("after that: %v", err)
	}
	again()
	if _, err := lockStart(t.Context(), filepath.Join(home, "away")); workflow.CodeOf(err) != workflow.CodeForbidden {
		t.Errorf("without a folder: %v", err)
	}
}

func TestDaemonLog(t *testing.T) {
	home := t.TempDir()
	path := DaemonLog(home)
	if err := os.WriteFile(path, []byte("old\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, maxDaemonLog+1); err != nil {
		t.Fatal(err)
	}
	f, err := OpenDaemonLog(home)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("before\n" + strings.Repeat("line\n", 11) + "last\n"); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path + ".1"); err != nil || info.Size() != maxDaemonLog+1 {
		t.Errorf("a large log is not put aside: %v", err)
	}
	if got, want := LogTail(path, 0), strings.Repeat("  line\n", 9)+"  last"; got != want {
		t.Errorf("its end is\n%s", got)
	}
	if got := LogTail(path, int64(len("before\n")+11*len("line\n"))); got != "  last" {
		t.Errorf("its end from the last line on is %q", got)
	}
	if got := LogTail(filepath.Join(home, "none"), 0); !strings.Contains(got, "no such file") {
		t.Errorf("without a log: %q", got)
	}
	if _, err := OpenDaemonLog(filepath.Join(home, "away")); workflow.CodeOf(err) != workflow.CodeForbidden {
		t.Errorf("without a folder: %v", err)
	}
}

func TestKeepInMemory(t *testing.T) {
	a := factory(t, "TORC_SERVER_SNAPSHOT_KEEP=2")
	a.Flags.SnapshotInterval = 90
	o := server.DaemonOptions{Database: "x.db"}
	if err := keepInMemory(a, &o); err != nil || !o.InMemory || o.Snapshots != (server.Snapshots{Path: "x.db", Every: 90 * time.Second, AtEnd: true, Keep: 2}) {
		t.Errorf("%+v, %v", o.Snapshots, err)
	}
	if err := keepInMemory(factory(t, "TORC_SERVER_SNAPSHOT_KEEP=0"), &o); cli.ExitStatus(err) != cli.ExitUsage {
		t.Errorf("no snapshot kept: %v", err)
	}
}
