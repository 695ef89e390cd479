// Package clitest runs a command of torc-slurm within a test: its streams are
// buffers, its clock stands still, and its server has the routes of the test.
package clitest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"mvdan.cc/sh/v3/shell"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
)

// User is who calls the commands.
const User = "ann"

// Now is the time at which commands run.
var Now = time.Date(2026, time.March, 14, 12, 0, 0, 0, time.UTC)

// T is what is needed of a *testing.T.
type T interface {
	Helper()
	Cleanup(func())
	TempDir() string
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Reply is what the server answers.
type Reply struct {
	Status int // 200 if zero
	Body   any // text as it is, else what is written as JSON
}

// Routes are the answers of the server by method and path, "GET /jobs/3". A key
// with a query, "GET /jobs?limit=1", goes before the one without.
type Routes map[string]Reply

// Case is one call of a command, and what it must do.
type Case struct {
	Args     string // as a shell reads them, with the name of the command first
	Routes   Routes
	Files    map[string]string // in the current folder, the user's home, which $DIR names in Args
	Environ  []string          // NAME=value, besides those that every case has
	Stdin    string
	Terminal int // width of the terminal that all streams are; 0: none is
	Want     Result
}

// Result is what a command did.
type Result struct {
	Status         int
	Stdout, Stderr string
	// Requests are those of the command in order: method, path with query, body.
	// That for the server's version is not among them.
	Requests []string
}

// Check runs each case and compares all of its result.
func Check(t T, command func(*cli.Factory) *cobra.Command, cases ...Case) {
	t.Helper()
	for _, c := range cases {
		if diff := cmp.Diff(c.Want, Run(t, command, c)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.Args, diff)
		}
	}
}

// Run runs a command with a server of its own.
func Run(t T, command func(*cli.Factory) *cobra.Command, c Case) Result {
	t.Helper()
	s := &server{routes: c.Routes}
	listening := httptest.NewServer(s)
	defer listening.Close()
	dir := t.TempDir()
	for name, text := range c.Files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatalf("%v", err)
		}
	}
	args, err := shell.Fields(c.Args, func(name string) string { return map[string]string{"DIR": dir}[name] })
	if err != nil {
		t.Fatalf("%s: %v", c.Args, err)
	}
	var stdout, stderr strings.Builder
	a := cli.New(cli.Environment{
		Args:    append([]string{"torc-slurm"}, args...),
		Environ: append([]string{"HOME=" + dir, "USER=" + User}, c.Environ...), Dir: dir,
		Stdin: strings.NewReader(c.Stdin), Stdout: &stdout, Stderr: &stderr,
		StdinTerminal: c.Terminal > 0, StdoutTerminal: c.Terminal > 0, StderrTerminal: c.Terminal > 0,
		Width:       func() int { return c.Terminal },
		Now:         func() time.Time { return Now },
		StopSignals: func() {},
	}, func(_ context.Context, a *cli.Factory, _ bool) (*cli.Connection, error) {
		conn := &cli.Connection{URL: listening.URL + api.BasePath}
		conn.Disconnect = func() error { conn.CloseIdle(); return nil }
		return conn, conn.Open(client.Options{URL: conn.URL, User: a.User(), Retries: -1, Log: a.Log})
	})
	defer a.StopSignals()
	root := cli.NewRoot(a)
	root.AddCommand(command(a))
	status := a.Finish(cli.Execute(a, root, args))
	for _, unknown := range s.unknown {
		t.Errorf("%s: no route of the test answers %s", c.Args, unknown)
	}
	return Result{Status: status, Stdout: stdout.String(), Stderr: stderr.String(), Requests: s.requests}
}

// server answers with the routes of a test.
type server struct {
	routes Routes

	mu                sync.Mutex
	requests, unknown []string
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	route := r.Method + " " + strings.TrimPrefix(r.URL.EscapedPath(), api.BasePath)
	body, _ := io.ReadAll(r.Body) // a request that breaks off is not the one that is wanted
	full := strings.TrimSuffix(route+"?"+r.URL.RawQuery, "?")
	reply, ok := s.routes[full]
	if !ok {
		reply, ok = s.routes[route]
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case ok, route != "GET /version":
		s.requests = append(s.requests, strings.TrimSpace(full+" "+string(body)))
	default:
		reply, ok = Reply{Body: map[string]string{"api_version": client.APIVersion}}, true
	}
	if !ok {
		s.unknown = append(s.unknown, full)
		reply = Reply{Status: http.StatusNotFound, Body: api.ErrorResponse{Error: api.ErrorDetail{Error: api.KindNotFound, Message: "no route"}}}
	}
	text, isText := reply.Body.(string)
	if !isText {
		data, err := json.Marshal(reply.Body)
		if err != nil {
			panic(err) // the test is wrong
		}
		text = string(data)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(cli.OrDefault(reply.Status, http.StatusOK))
	_, _ = io.WriteString(w, text) // a client that is gone has said so
}
