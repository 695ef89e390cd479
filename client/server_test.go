package client_test

import (
	"encoding/json"
	"errors"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/server"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// real is a client of a real server, whose answers can be lost.
type real struct {
	*client.Client
	t     *testing.T
	lost  atomic.Int64 // this many answers are lost
	tries atomic.Int64
}

func newReal(t *testing.T) *real {
	t.Helper()
	db, err := store.Open(t.Context(), store.Options{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	r := &real{t: t}
	of := &server.Server{Store: db, Log: slog.New(slog.DiscardHandler)}
	handler := of.Handler()
	listener := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.tries.Add(1)
		if r.lost.Add(-1) < 0 {
			handler.ServeHTTP(w, req)
			return
		}
		handler.ServeHTTP(httptest.NewRecorder(), req) // committed, and then
		panic(http.ErrAbortHandler)                    // it dies
	}))
	r.Client, err = client.New(client.Options{URL: listener.URL + api.BasePath})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.Close()
		listener.Close()
		of.Stop()
		of.Close()
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// got returns the value of a call that must succeed.
func got[T any](value T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

// all reads a list, which must succeed.
func all[T any](t *testing.T, list iter.Seq2[T, error]) []T {
	t.Helper()
	return got(client.Collect(list))(t)
}

func (r *real) workflow() int64 {
	r.t.Helper()
	return *got(r.Workflows.Create(r.t.Context(), &api.Workflow{Name: "w", User: "u"}))(r.t).ID
}

func (r *real) job(of int64, name string) *api.Job {
	r.t.Helper()
	return got(r.Jobs.Create(r.t.Context(), &api.Job{WorkflowID: of, Name: name, Command: "true"}))(r.t)
}

// TestLostAnswers loses the answers to calls that were carried out: repeated calls have
// one effect, and the others are not repeated.
func TestLostAnswers(t *testing.T) {
	r, ctx := newReal(t), t.Context()
	d := &workflow.Definition{Name: "w", User: "u", Jobs: []workflow.JobDefinition{{Name: "a", Command: "true"}}}
	r.lost.Store(1)
	created := got(r.Workflows.CreateDefinition(ctx, d, "key"))(t)
	id := created.WorkflowID
	if created.JobCount != 1 || r.tries.Load() != 2 {
		t.Errorf("%+v after %d tries", created, r.tries.Load())
	}
	if n := len(all(t, r.Workflows.List(ctx, client.WorkflowFilter{}))); n != 1 {
		t.Errorf("%d workflows", n)
	}

	r.lost.Store(1)
	r.tries.Store(0)
	if _, err := r.Jobs.Create(ctx, &api.Job{WorkflowID: id, Name: "b", Command: "true"}); !client.IsUnreachable(err) {
		t.Errorf("a job whose answer is lost: %v", err)
	}
	if n := len(all(t, r.Jobs.List(ctx, client.JobFilter{WorkflowID: id}))); n != 2 || r.tries.Load() != 2 {
		t.Errorf("%d jobs after %d tries, want 2 after one and one to count them", n, r.tries.Load())
	}

	if err := r.Workflows.Initialize(ctx, id, false); err != nil {
		t.Fatal(err)
	}
	r.lost.Store(1)
	registered := got(r.Runners.Register(ctx, id, &lease.RegisterRequest{
		Key: "k", Hostname: "h", StartTime: "2026-11-21T10:00:00Z", NodeType: "local", OutputDir: "/out",
		NumCPUs: 4, MemoryBytes: 1 << 30, NumNodes: 1,
	}))(t)
	runner := registered.RunnerID
	if n := len(all(t, r.ComputeNodes.List(ctx, client.ComputeNodeFilter{WorkflowID: id}))); n != 1 {
		t.Errorf("%d runners", n)
	}
	r.lost.Store(1)
	turn := got(r.Runners.Turn(ctx, runner, &lease.TurnRequest{Turn: 1, RunID: registered.RunID, Free: lease.Free{Slots: 1, Nodes: []placement.FreeNode{{CPUs: 4, MemoryBytes: 1 << 30}}}}))(t)
	if len(turn.Grants) != 1 {
		t.Errorf("%d grants", len(turn.Grants))
	}
	r.lost.Store(1)
	if left := got(r.Runners.Leave(ctx, runner, &lease.LeaveRequest{Reason: "done"}))(t); left.GivenBack > 1 {
		t.Errorf("%+v", left)
	}
}

func TestWorkflows(t *testing.T) {
	r, ctx := newReal(t), t.Context()
	id := r.workflow()
	name := "renamed"
	got(r.Workflows.Update(ctx, id, &api.WorkflowUpdate{Workflow: api.Workflow{Name: name, User: "u"}}))(t)
	if w := got(r.Workflows.Get(ctx, id))(t); w.Name != name {
		t.Errorf("%+v", w)
	}
	r.job(id, "a")
	if !got(r.Workflows.IsUninitialized(ctx, id))(t) {
		t.Error("it is initialized")
	}
	if start := got(r.Workflows.StartRun(ctx, id, &api.StartRunRequest{DryRun: true}))(t); !start.Started || start.RunID != 1 {
		t.Errorf("proposed %+v", start)
	}
	if start := got(r.Workflows.StartRun(ctx, id, &api.StartRunRequest{}))(t); !start.Started || start.Ready != 1 {
		t.Errorf("started %+v", start)
	}
	task := got(r.Workflows.StartInitialize(ctx, id, false))(t)
	if got(r.Tasks.Get(ctx, task.ID))(t).WorkflowID != id {
		t.Error("the task is of another workflow")
	}
	got(r.Tasks.Active(ctx, id))(t)
	if ids := got(r.Jobs.IDs(ctx, id))(t); len(ids) != 1 {
		t.Errorf("jobs %v", ids)
	}
	got(r.Workflows.Cancel(ctx, id))(t)
	if status := got(r.Workflows.Status(ctx, id))(t); !status.IsCanceled || status.TotalJobs != 1 {
		t.Errorf("%+v", status)
	}
	got(r.Workflows.IsComplete(ctx, id))(t)
	got(r.Workflows.ResetStatus(ctx, id, true))(t)
	if why := got(r.Workflows.Why(ctx, id))(t); why.State == "" {
		t.Error("there is no message")
	}
	got(r.Workflows.Archive(ctx, id, true))(t)
	got(r.Workflows.Delete(ctx, id))(t)
	if _, err := r.Workflows.Get(ctx, id); !client.IsNotFound(err) {
		t.Errorf("a deleted workflow: %v", err)
	}
	if v := got(r.Version(ctx))(t); client.CompareAPIVersion(v.APIVersion) != client.Compatible {
		t.Errorf("%+v", v)
	}
}

func TestJobs(t *testing.T) {
	r, ctx := newReal(t), t.Context()
	id := r.workflow()
	a := r.job(id, "a")
	many := got(r.Jobs.CreateAll(ctx, []api.Job{
		{WorkflowID: id, Name: "b", Command: "true", Labels: []string{"gpu"}, DependsOnJobIDs: []int64{*a.ID}},
		{WorkflowID: id, Name: "c", Command: "false"},
	}))(t)
	b := many[0]
	if j := got(r.Jobs.Get(ctx, *b.ID))(t); !cmp.Equal(j.DependsOnJobIDs, []int64{*a.ID}) {
		t.Errorf("%+v", j)
	}
	for want, filter := range map[string]client.JobFilter{
		"b":   {UpstreamJobID: a.ID},
		"c":   {Command: "FALS"},
		"a":   {Name: "a"},
		"cb":  {Page: client.Page{SortBy: "name", Reverse: true, Limit: 2}},
		"bc":  {Page: client.Page{Offset: 1}},
		"abc": {},
	} {
		filter.WorkflowID = id
		names := ""
		for _, j := range all(t, r.Jobs.List(ctx, filter)) {
			names += j.Name
		}
		if names != want {
			t.Errorf("%+v: jobs %s, want %s", filter, names, want)
		}
	}
	if n := len(all(t, r.Jobs.Dependencies(ctx, id, client.Page{}))); n != 1 {
		t.Errorf("%d dependencies", n)
	}
	got(r.Jobs.Update(ctx, *b.ID, &api.Job{WorkflowID: id, Name: "b2", Command: "true"}))(t)
	if j := got(r.Jobs.ClearLabels(ctx, *b.ID, &api.Job{WorkflowID: id, Name: "b2", Command: "true"}))(t); len(j.Labels) != 0 || j.Name != "b2" {
		t.Errorf("%+v", j)
	}
	if _, err := r.Jobs.ManageStatusChange(ctx, *a.ID, workflow.Ready, 0); err != nil {
		t.Error(err)
	}
	var refusal *client.APIError
	if _, err := r.Jobs.Retry(ctx, *a.ID, 0, 3); !errors.As(err, &refusal) || refusal.Status >= 500 {
		t.Errorf("a retry of a job that has not failed: %v", err)
	}
	if why := got(r.Jobs.Why(ctx, *b.ID))(t); why.State == "" {
		t.Error("there is no message")
	}
	if attempts := got(r.Jobs.Attempts(ctx, *b.ID))(t); len(attempts) != 0 {
		t.Errorf("%+v", attempts)
	}
	got(r.Jobs.Delete(ctx, *many[1].ID))(t)
	if n := got(r.Jobs.DeleteAll(ctx, id))(t); n != 2 {
		t.Errorf("%d jobs were left", n)
	}
	for _, err := range []error{failed(r.Jobs.CreateAll(ctx, []api.Job{{WorkflowID: 99}})), failed(r.Jobs.DeleteAll(ctx, 99))} {
		if err == nil {
			t.Error("an unknown workflow has jobs")
		}
	}
}

// failed returns the error of a call.
func failed[T any](_ T, err error) error { return err }

func TestFilesAndUserData(t *testing.T) {
	r, ctx := newReal(t), t.Context()
	id := r.workflow()
	f := got(r.Files.Create(ctx, &api.File{WorkflowID: id, Name: "f", Path: "in.csv"}))(t)
	got(r.Files.Update(ctx, *f.ID, &api.File{WorkflowID: id, Name: "f", Path: "in2.csv"}))(t)
	if got(r.Files.Get(ctx, *f.ID))(t).Path != "in2.csv" {
		t.Error("the path has not changed")
	}
	a, b := r.job(id, "a"), r.job(id, "b")
	yes := true
	u := got(r.UserData.Add(ctx, &api.UserData{WorkflowID: id, Name: "u", IsEphemeral: &yes}, a.ID, b.ID))(t)
	got(r.UserData.Create(ctx, &api.UserData{WorkflowID: id, Name: "v", Data: json.RawMessage(`1`)}))(t)
	no := false
	for _, tc := range []struct {
		filter client.UserDataFilter
		want   int
	}{{client.UserDataFilter{}, 2}, {client.UserDataFilter{IsEphemeral: &no}, 1}, {client.UserDataFilter{IsEphemeral: &yes, ProducerJobID: b.ID}, 1}} {
		tc.filter.WorkflowID = id
		if n := len(all(t, r.UserData.List(ctx, tc.filter))); n != tc.want {
			t.Errorf("%+v: %d records, want %d", tc.filter, n, tc.want)
		}
	}
	if missing := got(r.UserData.Missing(ctx, id))(t); len(missing) != 0 {
		t.Errorf("missing %v", missing)
	}
	got(r.UserData.Update(ctx, *u.ID, &api.UserData{WorkflowID: id, Name: "u2"}))(t)
	if got(r.UserData.Get(ctx, *u.ID))(t).Name != "u2" {
		t.Error("the name has not changed")
	}
	if n := len(all(t, r.Jobs.UserDataRelationships(ctx, id, client.Page{}))); n != 1 {
		t.Errorf("%d relations to user data", n)
	}
	got(r.Jobs.Create(ctx, &api.Job{WorkflowID: id, Name: "reader", Command: "true", InputFileIDs: []int64{*f.ID}}))(t)
	if n := len(all(t, r.Jobs.FileRelationships(ctx, id, client.Page{}))); n != 1 {
		t.Errorf("%d relations to files", n)
	}
	if ids := got(r.Files.RequiredExisting(ctx, id))(t); !cmp.Equal(ids, []int64{*f.ID}) {
		t.Errorf("required %v", ids)
	}
	got(r.UserData.Delete(ctx, *u.ID))(t)
	if gone := got(r.UserData.DeleteAll(ctx, id))(t); gone.DeletedCount != 1 {
		t.Errorf("%+v", gone)
	}
	got(r.Files.Delete(ctx, *f.ID))(t)
	if n := len(all(t, r.Files.List(ctx, client.FileFilter{WorkflowID: id}))); n != 0 {
		t.Errorf("%d files", n)
	}
}

func TestResultsAndNodes(t *testing.T) {
	r, ctx := newReal(t), t.Context()
	id := r.workflow()
	a := r.job(id, "a")
	node := got(r.ComputeNodes.Create(ctx, &api.ComputeNode{
		WorkflowID: id, Hostname: "h", StartTime: "2026-11-21T10:00:00Z", NumCPUs: 1, MemoryGB: 1, NumNodes: 1, ComputeNodeType: "local",
	}))(t)
	if got(r.ComputeNodes.Get(ctx, *node.ID))(t).Hostname != "h" {
		t.Error("the node is a different one")
	}
	result := &api.Result{
		JobID: *a.ID, WorkflowID: id, RunID: 0, ComputeNodeID: *node.ID, Status: workflow.Completed, CompletionTime: "2026-11-21T10:00:01Z",
	}
	r.lost.Store(1)
	first := got(r.Results.Create(ctx, result))(t)
	if got(r.Results.Get(ctx, *first.ID))(t).JobID != *a.ID {
		t.Error("the result is of another job")
	}
	if n := len(all(t, r.Results.List(ctx, client.ResultFilter{WorkflowID: id, AllRuns: true}))); n != 1 {
		t.Errorf("%d results", n)
	}
	got(r.Results.Delete(ctx, *first.ID))(t)
	got(r.ComputeNodes.Delete(ctx, *node.ID))(t)

	need := got(r.ResourceRequirements.Create(ctx, &api.ResourceRequirements{WorkflowID: id, Name: "big"}))(t)
	cpus := int64(8)
	got(r.ResourceRequirements.Update(ctx, *need.ID, &api.ResourceRequirements{WorkflowID: id, Name: "big", NumCPUs: &cpus}))(t)
	if *got(r.ResourceRequirements.Get(ctx, *need.ID))(t).NumCPUs != 8 {
		t.Error("the requirements have not changed")
	}
	got(r.ResourceRequirements.Delete(ctx, *need.ID))(t)
	all(t, r.ResourceRequirements.List(ctx, client.ResourceRequirementsFilter{WorkflowID: id}))

	name := "long"
	slurm := got(r.SlurmSchedulers.Create(ctx, &api.SlurmScheduler{WorkflowID: id, Name: &name, Account: "x", Nodes: 1, Walltime: "01:00:00"}))(t)
	got(r.SlurmSchedulers.Update(ctx, *slurm.ID, &api.SlurmScheduler{WorkflowID: id, Name: &name, Account: "y", Nodes: 1, Walltime: "01:00:00"}))(t)
	if got(r.SlurmSchedulers.Get(ctx, *slurm.ID))(t).Account != "y" {
		t.Error("the account has not changed")
	}
	if n := len(all(t, r.SlurmSchedulers.List(ctx, client.SlurmSchedulerFilter{WorkflowID: id}))); n != 1 {
		t.Errorf("%d schedulers", n)
	}
	got(r.SlurmSchedulers.Delete(ctx, *slurm.ID))(t)
	all(t, r.ScheduledComputeNodes.List(ctx, client.ScheduledComputeNodeFilter{WorkflowID: id}))
	if _, err := r.ScheduledComputeNodes.Get(ctx, 99); !client.IsNotFound(err) {
		t.Errorf("an unknown allocation: %v", err)
	}
	if _, err := r.ScheduledComputeNodes.Delete(ctx, 99); !client.IsNotFound(err) {
		t.Errorf("an unknown allocation: %v", err)
	}
	if _, err := r.FailureHandlers.Get(ctx, 99); !client.IsNotFound(err) {
		t.Errorf("an unknown handler: %v", err)
	}
	all(t, r.FailureHandlers.List(ctx, id, client.Page{}))
	all(t, r.Jobs.Running(ctx, id, client.Page{}))
	if _, err := r.Actions.Update(ctx, id, 99, nil); !client.IsNotFound(err) {
		t.Errorf("an unknown action: %v", err)
	}
	if _, err := r.Actions.Delete(ctx, id, 99); !client.IsNotFound(err) {
		t.Errorf("an unknown action: %v", err)
	}
}

// TestEvents writes events, reads them, and follows them from a position.
func TestEvents(t *testing.T) {
	r, ctx := newReal(t), t.Context()
	id := r.workflow()
	first := got(r.Events.Create(ctx, id, json.RawMessage(`{"category":"mine","n":1}`)))(t)
	got(r.Events.Create(ctx, id, json.RawMessage(`{"category":"mine","n":2}`)))(t)
	if e := got(r.Events.Get(ctx, *first.ID))(t); e.WorkflowID != id {
		t.Errorf("%+v", e)
	}
	if n := len(all(t, r.Events.List(ctx, client.EventFilter{WorkflowID: id, Category: "mine"}))); n != 2 {
		t.Errorf("%d events", n)
	}
	after := int64(0)
	for e, err := range r.Events.Stream(ctx, id, client.StreamOptions{Level: "debug", After: &after}) {
		if err != nil {
			t.Fatal(err)
		}
		if after++; e.Seq != after {
			t.Errorf("event %d, want %d", e.Seq, after)
		}
		if after == 2 {
			break
		}
	}
	got(r.Events.Delete(ctx, *first.ID))(t)
}
