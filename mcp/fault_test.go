package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/server"
	"github.com/torc-slurm/torc-slurm/server/hub"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// heldSpec is a workflow whose job is held.
const heldSpec = "name: held\nuse_pending_failed: true\njobs: [{name: a, command: 'echo broken >&2; exit 3'}]\n"

// through has calls go through a handler between the agent's server and the daemon.
func (r *rig) through(handle func(w http.ResponseWriter, q *http.Request, daemon http.Handler)) {
	r.t.Helper()
	direct := r.daemon
	forward := http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		answer, err := direct.Forward(q)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer answer.Body.Close()
		w.WriteHeader(answer.StatusCode)
		_, _ = io.Copy(w, answer.Body)
	})
	between := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) { handle(w, q, forward) }))
	var err error
	if r.daemon, err = client.New(client.Options{URL: between.URL + api.BasePath, Retries: -1}); err != nil {
		r.t.Fatal(err)
	}
	now := r.daemon
	r.t.Cleanup(func() {
		now.Close()
		between.Close()
		r.daemon = direct
	})
}

// TestHugeArguments: they are rejected with a reason, and the session goes on.
func TestHugeArguments(t *testing.T) {
	r := newRig(t, Propose)
	id := r.create(heldSpec)
	r.run(id)
	huge := strings.Repeat("x", 2<<20)
	r.refused("classify_and_resolve_failures", map[string]any{"workflow_id": id, "dry_run": false,
		"classifications": []any{map[string]any{"job_id": r.job(id, "a"), "action": "fail", "reason": huge}}}, workflow.CodeConflict, "")
	many := make([]any, 20_000)
	for i := range many {
		many[i] = map[string]any{"job_id": i + 1, "action": "fail", "reason": "x"}
	}
	r.refused("classify_and_resolve_failures", map[string]any{"workflow_id": id, "dry_run": false, "classifications": many}, workflow.CodeInvalid, "at most")
	if got := r.status(r.job(id, "a")); got != "pending_failed" {
		t.Errorf("the job is %s", got)
	}
	r.must("list_proposals", map[string]any{}).lacks("proposal_id")
}

// TestOtherVersions: a daemon without a call says so, and what a newer one adds is ignored.
func TestOtherVersions(t *testing.T) {
	r := newRig(t, Propose)
	id := r.create(heldSpec)
	r.run(id)
	newer, older := true, false
	r.through(func(w http.ResponseWriter, q *http.Request, daemon http.Handler) {
		if older && strings.HasSuffix(q.URL.Path, "/holds") {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		answer := httptest.NewRecorder()
		daemon.ServeHTTP(answer, q)
		body := answer.Body.Bytes()
		var object map[string]any
		if newer && json.Unmarshal(body, &object) == nil {
			object["added_later"] = map[string]any{"x": []int{1}}
			body, _ = json.Marshal(object)
		}
		w.WriteHeader(answer.Code)
		_, _ = io.Copy(w, bytes.NewReader(body))
	})
	r.must("list_pending_failed_jobs", map[string]any{"workflow_id": id}).has(`"count":1`).lacks("added_later")
	older = true
	r.refused("list_pending_failed_jobs", map[string]any{"workflow_id": id}, workflow.CodeUnavailable, "it has another version")
}

// TestRestartedDaemon: the agent's session outlives its daemon, and so do proposals.
func TestRestartedDaemon(t *testing.T) {
	r := newRig(t, Apply)
	first := r.daemon
	t.Cleanup(func() { r.daemon = first })
	path := filepath.Join(t.TempDir(), "torc.db")
	start := func() (stop func()) {
		wake := hub.New()
		db, err := store.Open(context.Background(), store.Options{Path: path, OnCommit: wake.Publish, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		of := &server.Server{Store: db, Hub: wake, Log: slog.New(slog.DiscardHandler)}
		listener := httptest.NewServer(of.Handler())
		if r.daemon, err = client.New(client.Options{URL: listener.URL + api.BasePath, Retries: -1}); err != nil {
			t.Fatal(err)
		}
		now := r.daemon
		return func() {
			now.Close()
			of.Stop()
			listener.Close()
			of.Close()
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	stop := start()
	id := r.create(heldSpec)
	r.run(id)
	proposing := r.connect(Propose)
	p := callBy(t, proposing, "classify_and_resolve_failures", map[string]any{"workflow_id": id, "dry_run": false,
		"classifications": []any{map[string]any{"job_id": r.job(id, "a"), "action": "fail", "reason": "broken"}}})
	if p.IsError {
		t.Fatal(p.text)
	}
	stop()
	r.refused("apply_proposal", map[string]any{"proposal_id": 1}, workflow.CodeUnavailable, "")
	stop = start()
	defer stop()
	r.must("apply_proposal", map[string]any{"proposal_id": 1})
	if got := r.status(r.job(id, "a")); got != "failed" {
		t.Errorf("the job is %s", got)
	}
	r.refused("apply_proposal", map[string]any{"proposal_id": 1}, workflow.CodeConflict, "was applied by")
}
