package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/runner"
	"github.com/torc-slurm/torc-slurm/runner/output"
	"github.com/torc-slurm/torc-slurm/server"
	"github.com/torc-slurm/torc-slurm/server/hub"
	"github.com/torc-slurm/torc-slurm/spec"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a real daemon in this process, and an agent that is connected to our server.
type rig struct {
	t      *testing.T
	dir    string
	daemon *client.Client
	agent  *sdk.ClientSession
	down   bool // the daemon cannot be reached
	// options are those of the next agent.
	options *sdk.ClientOptions
}

// newRig starts a daemon, and connects an agent in a mode.
func newRig(t *testing.T, mode Mode) *rig {
	t.Helper()
	wake := hub.New()
	db, err := store.Open(t.Context(), store.Options{InMemory: true, OnCommit: wake.Publish, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	of := &server.Server{Store: db, Hub: wake, Log: slog.New(slog.DiscardHandler)}
	listener := httptest.NewServer(of.Handler())
	r := &rig{t: t, dir: t.TempDir()}
	if r.daemon, err = client.New(client.Options{URL: listener.URL + api.BasePath, Retries: -1}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.daemon.Close()
		of.Stop()
		listener.Close()
		of.Close()
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	r.agent = r.connect(mode)
	return r
}

// connect returns another agent.
func (r *rig) connect(mode Mode) *sdk.ClientSession {
	r.t.Helper()
	s := New(Options{
		Version: "test", Mode: mode, User: "ann", Spec: spec.Options{User: "ann", Dir: r.dir},
		Connect: func(context.Context) (*client.Client, error) {
			if r.down {
				return nil, workflow.Errorf(workflow.CodeUnavailable, "your daemon does not run")
			}
			return r.daemon, nil
		},
		OutputDirs: func(ctx context.Context, c *client.Client, named string) ([]string, error) {
			if named == "" {
				named = r.dir
			}
			return output.Dirs(named, ""), nil
		},
		OutputRoots: func(string) []string { return []string{r.dir} },
		LogFiles: func(dirs []string, id int64) (files []LogFile, err error) {
			err = fs.WalkDir(os.DirFS(dirs[0]), ".", func(path string, e fs.DirEntry, err error) error {
				if err != nil || !e.Type().IsRegular() {
					return err
				}
				info, err := e.Info()
				files = append(files, LogFile{dirs[0], path, info.Size()})
				return err
			})
			return files, err
		},
	})
	ours, theirs := sdk.NewInMemoryTransports()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx, ours) }()
	session, err := sdk.NewClient(&sdk.Implementation{Name: "agent", Version: "1"}, r.options).Connect(r.t.Context(), theirs, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		_ = session.Close()
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			r.t.Errorf("the server ended: %v", err)
		}
	})
	return session
}

// answer is what a tool has returned.
type answer struct {
	t *testing.T
	*sdk.CallToolResult
	text string
	data map[string]any
}

// call calls a tool.
func (r *rig) call(name string, args any) answer {
	r.t.Helper()
	return callBy(r.t, r.agent, name, args)
}

func callBy(t *testing.T, agent *sdk.ClientSession, name string, args any) answer {
	t.Helper()
	res, err := agent.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	a := answer{t: t, CallToolResult: res}
	for _, c := range res.Content {
		a.text += c.(*sdk.TextContent).Text
	}
	if err := json.Unmarshal([]byte(a.text), &a.data); err != nil {
		t.Fatalf("%s: not JSON: %v: %s", name, err, a.text)
	}
	return a
}

// must calls a tool, which has to succeed.
func (r *rig) must(name string, args any) answer {
	r.t.Helper()
	a := r.call(name, args)
	if a.IsError {
		r.t.Fatalf("%s %v: %s", name, args, a.text)
	}
	return a
}

// refused calls a tool, which has to fail with a code and a text.
func (r *rig) refused(name string, args any, code workflow.Code, says string) {
	r.t.Helper()
	a := r.call(name, args)
	if !a.IsError || a.data["code"] != string(code) || !strings.Contains(a.text, says) {
		r.t.Errorf("%s %v: want %s %q, got %s", name, args, code, says, a.text)
	}
}

// has checks that the answer contains texts.
func (a answer) has(texts ...string) answer {
	a.t.Helper()
	for _, text := range texts {
		if !strings.Contains(a.text, text) {
			a.t.Errorf("the answer has no %q: %s", text, a.text)
		}
	}
	return a
}

// lacks checks that the answer does not contain texts.
func (a answer) lacks(texts ...string) answer {
	a.t.Helper()
	for _, text := range texts {
		if strings.Contains(a.text, text) {
			a.t.Errorf("the answer has %q: %s", text, a.text)
		}
	}
	return a
}

// create creates a workflow from a specification, and initializes it.
func (r *rig) create(text string) int64 {
	r.t.Helper()
	loaded, err := spec.Parse("spec.yaml", []byte(text), spec.Options{User: "ann", Dir: r.dir})
	if err != nil {
		r.t.Fatal(err)
	}
	created, err := r.daemon.Workflows.CreateDefinition(r.t.Context(), loaded.Definition, "")
	if err == nil {
		_, err = r.daemon.Workflows.StartRun(r.t.Context(), created.WorkflowID, &api.StartRunRequest{})
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return created.WorkflowID
}

// run runs the ready jobs of a workflow.
func (r *rig) run(id int64) {
	r.t.Helper()
	run, err := runner.New(runner.Options{
		Client: r.daemon.Runners, WorkflowID: id, OutputDir: r.dir, WorkDir: r.dir, Resources: runner.Resources{CPUs: 2, MemoryBytes: 4 << 30},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	if _, err := run.Run(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
}

// job returns the id of a job by its name.
func (r *rig) job(workflowID int64, name string) int64 {
	r.t.Helper()
	jobs, err := client.Collect(r.daemon.Jobs.List(r.t.Context(), client.JobFilter{WorkflowID: workflowID, Name: name}))
	if err != nil || len(jobs) != 1 {
		r.t.Fatalf("%d jobs %s: %v", len(jobs), name, err)
	}
	return *jobs[0].ID
}

// status returns the status of a job.
func (r *rig) status(id int64) string {
	r.t.Helper()
	j, err := r.daemon.Jobs.Get(r.t.Context(), id)
	if err != nil {
		r.t.Fatal(err)
	}
	return j.Status.String()
}

// toolNames returns the names of the tools that an agent sees.
func toolNames(t *testing.T, agent *sdk.ClientSession) (names []string) {
	t.Helper()
	for tool, err := range agent.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	return names
}

// write writes a file in the folder of the jobs.
func (r *rig) write(name, text string) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o666); err != nil {
		r.t.Fatal(err)
	}
}
