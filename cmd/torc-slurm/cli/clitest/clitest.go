// Package clitest runs a command of torc-slurm within a test: its streams are
// buffers, its clock stands still, and its server has the routes of the test.
package clitest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"mvdan.cc/sh/v3/shell"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/slurm"
)

// User is who calls the commands.
const User = "ann"

// Now is the time at which commands run.
var Now = time.Date(2026, time.March, 14, 12, 0, 0, 0, time.UTC)

// T has the methods of a *testing.T that this package needs.
type T interface {
	Helper()
	Cleanup(func())
	TempDir() string
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Reply is a response of the server.
type Reply struct {
	Status int     // 200 if zero
	Body   any     // text as it is, else what is written as JSON; $DIR stands for the current folder
	Then   []Reply // to later requests of the same route, the last one to all that follow
}

// Routes are the responses of the server by method and path, "GET /jobs/3". A key with a
// query, "GET /jobs?limit=1", takes precedence over the one without.
type Routes map[string]Reply

// With returns the routes and others, which replace those with the same key.
func (r Routes) With(others Routes) Routes {
	all := maps.Clone(r)
	maps.Copy(all, others)
	return all
}

// Case is a call of a command and its expected result.
type Case struct {
	Args   string // as a shell reads them, with the name of the command first
	Routes Routes
	// Files are in the current folder, the user's home, which $DIR names in Args. Those
	// that begin with #! can be run.
	Files    map[string]string
	Environ  []string // NAME=value, besides those that every case has; $DIR as in Args
	Stdin    string
	Terminal int // width of the terminal that all streams are; 0: none is
	// Interrupt, if not empty, is what the command has written last on standard error when
	// the user types nothing but Ctrl-C.
	Interrupt string
	Read      []string // files whose text is part of the result
	Want      Result
}

// Result is what a command returned and printed. In its texts $DIR stands for the current folder.
type Result struct {
	Status         int
	Stdout, Stderr string
	// Requests are those of the command in order: method, path with query, body.
	// That for the server's version is not among them.
	Requests []string
	Files    map[string]string // those of Case.Read that are there
}

// Check runs each case and compares all of its result. The order of the keys in the body
// of a request does not count.
func Check(t T, command func(*cli.Factory) *cobra.Command, cases ...Case) {
	t.Helper()
	for _, c := range cases {
		if diff := cmp.Diff(comparable(c.Want), comparable(Run(t, command, c))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.Args, diff)
		}
	}
}

// comparable is a result with the keys of request bodies in order.
func comparable(r Result) Result {
	requests := slices.Clone(r.Requests)
	for i, request := range requests {
		route, body, _ := strings.Cut(request, " {")
		var object map[string]any
		if json.Unmarshal([]byte("{"+body), &object) != nil {
			continue // it has none
		}
		if text, err := json.Marshal(object); err == nil {
			requests[i] = route + " " + string(text)
		}
	}
	r.Requests = requests
	return r
}

// Run runs a command with a server of its own.
func Run(t T, command func(*cli.Factory) *cobra.Command, c Case) Result {
	t.Helper()
	dir := t.TempDir()
	s := &server{routes: c.Routes, dir: dir, asked: map[string]int{}}
	listening := httptest.NewServer(s)
	defer listening.Close()
	writeFiles(t, dir, c.Files)
	args, err := shell.Fields(c.Args, func(name string) string { return map[string]string{"DIR": dir}[name] })
	if err != nil {
		t.Fatalf("%s: %v", c.Args, err)
	}
	var stdout, stderr strings.Builder
	signals := make(chan os.Signal, 1)
	env := cli.Environment{
		Args: append([]string{"torc-slurm"}, args...), Dir: dir,
		Stdin: &keyboard{c.Stdin}, Stdout: &stdout, Stderr: &stderr,
		StdinTerminal: c.Terminal > 0, StdoutTerminal: c.Terminal > 0, StderrTerminal: c.Terminal > 0,
		Width:   func() int { return c.Terminal },
		Now:     func() time.Time { return Now },
		Signals: signals, StopSignals: func() {},
	}
	for _, entry := range append(environ(), c.Environ...) {
		env.Environ = append(env.Environ, strings.ReplaceAll(entry, "$DIR", dir))
	}
	if c.Interrupt != "" {
		silent, open, err := os.Pipe() // as with a terminal, a read waits
		if err != nil {
			t.Fatalf("%v", err)
		}
		defer silent.Close()
		defer open.Close()
		env.Stdin, env.Stderr = silent, &interrupter{Builder: &stderr, at: c.Interrupt, signals: signals}
	}
	a := cli.New(env, func(_ context.Context, a *cli.Factory, _ bool) (*cli.Connection, error) {
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
	result := Result{Status: status, Stdout: s.portable(stdout.String()), Stderr: s.portable(stderr.String()), Requests: s.requests}
	for _, name := range c.Read {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err == nil {
			if result.Files == nil {
				result.Files = map[string]string{}
			}
			result.Files[name] = s.portable(string(text))
		}
	}
	return result
}

// environ is what every case has. None finds the Slurm of the machine.
func environ() []string {
	variables := []string{"HOME=$DIR", "USER=" + User}
	for _, program := range []string{slurm.Sbatch, slurm.Squeue, slurm.Sacct, slurm.Scancel, slurm.Scontrol, slurm.Sinfo, slurm.Sacctmgr, slurm.Srun} {
		variables = append(variables, "TORC_FAKE_"+strings.ToUpper(program)+"=/nonexistent/"+program)
	}
	return variables
}

func writeFiles(t T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path, mode := filepath.Join(dir, name), os.FileMode(0o600)
		if strings.HasPrefix(text, "#!") {
			mode = 0o700
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), mode)); err != nil {
			t.Fatalf("%v", err)
		}
	}
}

// keyboard has what is typed, and like a terminal gives a line at a time.
type keyboard struct{ text string }

func (k *keyboard) Read(p []byte) (int, error) {
	if k.text == "" {
		return 0, io.EOF
	}
	line, _, _ := strings.Cut(k.text, "\n")
	n := copy(p, k.text[:min(len(line)+1, len(k.text))])
	k.text = k.text[n:]
	return n, nil
}

// interrupter types Ctrl-C once a text has been written.
type interrupter struct {
	*strings.Builder
	at      string
	signals chan<- os.Signal
}

func (i *interrupter) Write(p []byte) (int, error) {
	n, err := i.Builder.Write(p)
	if i.at != "" && strings.HasSuffix(i.String(), i.at) {
		i.at = ""
		i.signals <- os.Interrupt
	}
	return n, err
}

// server answers with the routes of a test.
type server struct {
	routes Routes
	dir    string

	mu                sync.Mutex
	asked             map[string]int
	requests, unknown []string
}

// portable has $DIR in place of the folder of the case.
func (s *server) portable(text string) string { return strings.ReplaceAll(text, s.dir, "$DIR") }

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	route := r.Method + " " + strings.TrimPrefix(r.URL.EscapedPath(), api.BasePath)
	body, _ := io.ReadAll(r.Body) // a request that breaks off is not the one that is wanted
	full := strings.TrimSuffix(route+"?"+r.URL.RawQuery, "?")
	key := full
	reply, ok := s.routes[key]
	if !ok {
		key = route
		reply, ok = s.routes[key]
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.asked[key]; n > 0 && len(reply.Then) > 0 {
		reply = reply.Then[min(n, len(reply.Then))-1]
	}
	s.asked[key]++
	switch {
	case ok, route != "GET /version":
		s.requests = append(s.requests, s.portable(strings.TrimSpace(full+" "+string(body))))
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
	_, _ = io.WriteString(w, strings.ReplaceAll(text, "$DIR", s.dir)) // a client that is gone has said so
}
