package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/server"
)

const counted = `
name: counted
jobs:
  - {name: work, command: echo job >>ran}
actions:
  - {trigger_type: on_workflow_start, action_type: run_commands, commands: [echo action >>../ran]}
`

// runLate runs a command whose nth call with a path that ends so is held up until something
// else has been done.
func (p *person) runLate(path string, nth int64, meanwhile func(), args ...string) (stderr string) {
	p.Helper()
	endpoint := server.EndpointPath(filepath.Join(p.dir, "home", "torc"))
	e, err := server.ReadEndpoint(endpoint)
	if err != nil {
		p.Fatal(err)
	}
	daemon, err := url.Parse(e.URL)
	if err != nil {
		p.Fatal(err)
	}
	var calls atomic.Int64
	forward := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: daemon.Scheme, Host: daemon.Host})
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, path) && calls.Add(1) == nth {
			meanwhile()
		}
		forward.ServeHTTP(w, r)
	}))
	defer proxy.Close()
	cmd := p.command(args...)
	cmd.Env = append(cmd.Env, "TORC_API_URL="+proxy.URL+daemon.Path, "TORC_TOKEN_FILE="+server.TokenPath(endpoint))
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Run(); err != nil {
		p.Fatalf("%v: %v\n%s", args, err, &errs)
	}
	return errs.String()
}

// TestStartedMeanwhile: of two commands that start the run of a workflow at the same time one
// does, and the other continues it.
func TestStartedMeanwhile(t *testing.T) {
	for nth := range int64(2) { // the proposal is late, or the start
		t.Run(fmt.Sprint("run", nth), func(t *testing.T) {
			t.Parallel()
			p := newPerson(t)
			p.write("counted.yaml", counted)
			p.run(0, "create", "counted.yaml")
			stderr := p.runLate("/start_run", nth+1, func() { p.run(0, "run", "1") }, "run", "1")
			if !strings.Contains(stderr, "Workflow 1 has ended") {
				t.Error(stderr)
			}
			p.wantRun(1)
			ran, err := os.ReadFile(filepath.Join(p.dir, "ran"))
			if err != nil || strings.Count(string(ran), "job") != 1 || strings.Count(string(ran), "action") != 1 {
				t.Errorf("%v: what ran: %q", err, ran)
			}
		})
	}
	t.Run("submit", func(t *testing.T) {
		t.Parallel()
		p := newPerson(t)
		p.write("once.yaml", once)
		p.run(0, "create", "once.yaml")
		stderr := p.runLate("/start_run", 2, func() { p.run(0, "workflows", "init", "1") }, "submit", "1")
		if !strings.Contains(stderr, "Run 1 of workflow 1 was started meanwhile.") {
			t.Error(stderr)
		}
		p.wantRun(1)
	})
	t.Run("reset", func(t *testing.T) {
		t.Parallel()
		p := newPerson(t)
		p.write("once.yaml", once)
		p.write("there", "")
		p.run(0, "create", "once.yaml")
		reset := p.talk("reset", "1")
		reset.expect("Reset all jobs of workflow 1", "")
		p.run(0, "run", "1")
		reset.expect("", "y\n")
		if all := reset.exits(cli.ExitRefused); !strings.Contains(all, "workflow 1 is at run 1, not at run 0") {
			t.Error(all)
		}
	})
}

func (p *person) wantRun(runID int64) {
	p.Helper()
	var s api.WorkflowStatus
	if p.decode(&s, "status", "1"); s.RunID != runID {
		p.Errorf("it is at run %d, want %d", s.RunID, runID)
	}
}
