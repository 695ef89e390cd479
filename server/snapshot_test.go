package server

import (
	"log/slog"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// workflowsIn returns the number of workflows in a database file.
func workflowsIn(t *testing.T, path string) int {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{Path: path, InMemory: true})
	if workflow.CodeOf(err) == workflow.CodeConflict {
		return -1 // it is being written
	}
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, total, err := s.Workflows.List(t.Context(), store.WorkflowFilter{}, store.Page{})
	if err != nil {
		t.Fatal(err)
	}
	return int(total)
}

func createWorkflow(t *testing.T, d *Daemon) {
	t.Helper()
	if _, err := d.store.Workflows.Create(t.Context(), workflow.Workflow{Name: "w", User: "u"}); err != nil {
		t.Fatal(err)
	}
}

func TestSnapshotsOfMemory(t *testing.T) {
	t.Chdir(t.TempDir())
	path := filepath.Join(t.TempDir(), "torc.db")
	change := func(o *DaemonOptions) {
		o.Database, o.EndpointPath, o.InMemory = "", "", true
		o.Snapshots = Snapshots{Path: path, Keep: 2, Every: 100 * time.Millisecond}
		o.Log = slog.New(slog.DiscardHandler) // the test and the daemon lock each other out
	}
	d := startDaemon(t, change)
	if got := ping(t, d.Endpoint(), "Bearer "+d.Endpoint().Token); got != http.StatusOK {
		t.Errorf("ping: %d", got)
	}
	createWorkflow(t, d)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); workflowsIn(t, path) != 1 || workflowsIn(t, path+".1") != 1; <-tick.C {
		if time.Now().After(deadline) {
			t.Fatal("the snapshots do not become up to date")
		}
	}
	if files, err := filepath.Glob("*"); err != nil || len(files) > 0 {
		t.Errorf("files %v, %v", files, err)
	}
}

// A database in memory that belongs to a file continues where the last daemon ended, and
// its file is private.
func TestSnapshotAtEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "torc.db")
	for n := range 3 {
		o := DaemonOptions{
			Database: path, EndpointPath: DatabaseEndpointPath(path), InMemory: true, User: "me",
			Snapshots: Snapshots{Path: path, AtEnd: true},
		}
		d, err := Start(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if got := workflowsIn(t, path); got != -1 {
			t.Errorf("another program reads %d workflows", got)
		}
		createWorkflow(t, d)
		d.Stop()
		if err := d.Wait(); err != nil {
			t.Fatal(err)
		}
		if got := workflowsIn(t, path); got != n+1 {
			t.Errorf("%d workflows after %d runs", got, n+1)
		}
	}
}

func TestSnapshotWithoutPath(t *testing.T) {
	err := startDaemon(t, nil).Snapshot(t.Context())
	if got := workflow.CodeOf(err); got != workflow.CodeInvalid {
		t.Errorf("error %v", err)
	}
}
