package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
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

// runLate runs a command whose first call with a path that ends so is held up until
// something else has been done.
func (p *person) runLate(path string, meanwhile func(), args ...string) (stderr string) {
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
	var once sync.Once
	forward := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: daemon.Scheme, Host: daemon.Host})
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, path) {
			once.Do(meanwhile)
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

// TestBegunMeanwhile: of two commands that begin the run of a workflow in the same
// moment one does, and the other goes on with it.
func TestBegunMeanwhile(t *testing.T) {
	for _, late := range []string{"/reset_status", "/initialize_jobs"} {
		t.Run(late, func(t *testing.T) {
			t.Parallel()
			p := newPerson(t)
			p.write("counted.yaml", counted)
			p.run(0, "create", "counted.yaml")
			stderr := p.runLate(late, func() { p.run(0, "run", "1") }, "run", "1")
			if !strings.Contains(stderr, "Run 1 of workflow 1 has been begun meanwhile.") {
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
		p.runLate("/reset_status", func() { p.run(0, "workflows", "init", "1") }, "submit", "1")
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
