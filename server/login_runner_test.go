package server

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// fakeLogin starts nothing, and records calls.
type fakeLogin struct {
	started chan store.LoginWork
	refuse  error
	ended   bool
	failure error
}

func (f *fakeLogin) start(w store.LoginWork) (LoginProcess, error) {
	if f.refuse != nil {
		return nil, f.refuse
	}
	f.started <- w
	return f, nil
}

func (f *fakeLogin) Ended() (bool, error) { return f.ended, f.failure }

// loginDefinition is a workflow with only an end job, which is ready as soon as the
// workflow is started.
func loginDefinition(t *testing.T, s *store.Store) (workflowID int64) {
	t.Helper()
	end, err := (&workflow.EndJob{Command: "true", Where: workflow.EndOnLogin}).Job("end", 1)
	if err != nil {
		t.Fatal(err)
	}
	def := &workflow.Definition{Name: "w", User: "me", SubmissionDirectory: t.TempDir(), Jobs: []workflow.JobDefinition{end},
		Stages: []workflow.StageDefinition{{Kind: workflow.StageEnd, Name: "end"}}}
	w, err := s.Workflows.BeginDefinition(t.Context(), def, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Add(def); err != nil {
		t.Fatal(err)
	}
	id, err := w.Finish(t.Context(), 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Workflows.Initialize(t.Context(), id, store.InitializeOptions{User: "me"}); err != nil {
		t.Fatal(err)
	}
	return id
}

// The daemon starts a runner for a job of its host as soon as the job is ready, one at a
// time.
func TestDaemonStartsLoginRunners(t *testing.T) {
	fake := &fakeLogin{started: make(chan store.LoginWork, 10)}
	d := startDaemon(t, func(o *DaemonOptions) { o.StartLogin = fake.start })
	first, second := loginDefinition(t, d.store), loginDefinition(t, d.store)
	for range 2 {
		select {
		case w := <-fake.started:
			if w.WorkflowID != first && w.WorkflowID != second || !strings.HasPrefix(w.OutputDir, w.Dir) {
				t.Errorf("started for %+v", w)
			}
		case <-time.After(10 * time.Second):
			t.Fatal("no runner was started")
		}
	}
	d.Stop()
	if err := d.Wait(); err != nil { // although the runners continue
		t.Error(err)
	}
	if n := len(fake.started); n != 0 {
		t.Errorf("%d extra runners", n)
	}
}

// A runner that fails is restarted, later each time.
func TestLoginRunnersThatFail(t *testing.T) {
	d := startDaemon(t, nil)
	fake := &fakeLogin{started: make(chan store.LoginWork, 10), refuse: errors.New("no process")}
	l := newLoginRunners(d.server, nil, fake.start)
	id := loginDefinition(t, d.store)
	now := time.Now()
	look := func(after time.Duration, why string, starts int) {
		t.Helper()
		now = now.Add(after)
		if err := l.startNeeded(t.Context(), now); err != nil {
			t.Fatal(err)
		}
		if got := l.failure(id).why; got != why {
			t.Errorf("failure %q, want %q", got, why)
		}
		if n := len(fake.started); n != starts {
			t.Errorf("started %d times, want %d", n, starts)
		}
	}
	look(0, "no process", 0)
	fake.refuse = nil
	look(firstLoginPause-1, "no process", 0)
	look(1, "no process", 1)
	look(time.Hour, "no process", 1) // it runs
	fake.ended, fake.failure = true, errors.New("exit status 1")
	look(0, "exit status 1", 1)
	look(2*firstLoginPause-1, "exit status 1", 1)
	fake.ended = false
	look(1, "exit status 1", 2)
	fake.ended, fake.failure = true, nil
	look(0, "", 3) // it left, and there is still work
	if f := d.server.loginFacts(id); !f.Starts || f.Failure != "" || f.Host == "" {
		t.Errorf("%+v", f)
	}
}

// A runner's part depends on where it is.
func TestLoginPart(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{}
	for _, tc := range []struct {
		r    lease.RegisterRequest
		want placement.LoginPart
	}{
		{lease.RegisterRequest{Hostname: host, BootID: BootID(), NodeType: "local"}, placement.LoginAlso},
		{lease.RegisterRequest{Hostname: host, BootID: BootID(), NodeType: "local", OnlyLogin: true}, placement.LoginOnly},
		{lease.RegisterRequest{Hostname: host, BootID: BootID(), NodeType: "slurm"}, placement.LoginNone},
		{lease.RegisterRequest{Hostname: host, BootID: BootID(), NodeType: "local", Allocation: &lease.AllocationMember{}}, placement.LoginNone},
		{lease.RegisterRequest{Hostname: host, BootID: "another", NodeType: "local"}, placement.LoginNone},
		{lease.RegisterRequest{Hostname: "another", BootID: BootID(), NodeType: "local"}, placement.LoginNone},
	} {
		if got, err := s.loginPart(&tc.r); got != tc.want || err != nil {
			t.Errorf("%s: %d, want %d", fmt.Sprintf("%+v", tc.r), got, tc.want)
		}
	}
	_, err = s.loginPart(&lease.RegisterRequest{Hostname: "another", BootID: BootID(), NodeType: "local", OnlyLogin: true})
	if workflow.CodeOf(err) != workflow.CodeConflict {
		t.Errorf("a runner of another host for jobs of this one: %v", err)
	}
}
