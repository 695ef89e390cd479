package allocation

import (
	"context"
	"fmt"
	"log/slog"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/slurm/slurmtest"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/store/check"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// silentRunners are runners that have never called.
type silentRunners struct{}

func (silentRunners) Silence(int64) time.Duration { return 0 }
func (silentRunners) Stop(int64, string)          {}

// TestRealSlurm has allocations of a real cluster end in several ways, in parallel.
func TestRealSlurm(t *testing.T) {
	real := slurmtest.UseReal(t)
	owner, err := user.Lookup(slurmtest.TestUser)
	if err != nil {
		t.Fatal(err)
	}
	dir := real.Dir(t)
	s, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "torc.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	w, err := s.Workflows.Create(t.Context(), workflow.Workflow{Name: "real sweep", User: owner.Username})
	if err != nil {
		t.Fatal(err)
	}
	client, root := slurm.New(slurm.Options{Executor: real.User()}), slurm.New(slurm.Options{Executor: real.Root()})
	loop := New(Options{
		Store: s, Slurm: client, Runners: silentRunners{}, SecretDir: t.TempDir(), Log: slog.New(slog.DiscardHandler),
		Script: Script{OutputDir: dir, Requeue: true, Runner: func(a compute.Allocation, _ string) []string { return strings.Fields(a.Why) }},
		Settings: Settings{User: owner.Username, Owner: owner.Uid, Poll: 2 * time.Second, Hurry: time.Second, Least: time.Second / 2,
			MinJobAge: time.Minute, CausePatience: 20 * time.Second, CancelAgain: 10 * time.Second},
	})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- loop.Run(ctx) }()
	defer func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()

	submit := func(command string) compute.Allocation {
		a, err := loop.Submitter().Submit(t.Context(), Want{WorkflowID: w.ID, Why: command,
			Request: compute.AllocationRequest{Account: "research", Partition: "debug", Nodes: 1, CPUsPerNode: 1, Mem: "20M", WalltimeS: 600}})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	restarts := func(a compute.Allocation) []compute.Allocation {
		all, _, err := s.Allocations.List(t.Context(), store.AllocationFilter{WorkflowID: w.ID, SlurmJobID: &a.SlurmJobID}, store.Page{Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	until := func(what string, a compute.Allocation, is func([]compute.Allocation) bool) {
		t.Helper()
		slurmtest.Eventually(t, 2*time.Minute, fmt.Sprintf("%s (Slurm job %d)", what, a.SlurmJobID), func() bool { return is(restarts(a)) })
	}
	active := func(all []compute.Allocation) bool { return all[len(all)-1].State == compute.AllocationActive }
	ended := func(want compute.AllocationCause) func([]compute.Allocation) bool {
		return func(all []compute.Allocation) bool {
			last := all[len(all)-1]
			if last.State == compute.AllocationEnded && last.Cause != want {
				t.Errorf("Slurm job %d has ended: %s: %s, want %s", last.SlurmJobID, last.Cause, last.CauseText, want)
				return true
			}
			return last.State == compute.AllocationEnded
		}
	}

	ok, fails := submit("true"), submit("false")
	ours, users, admins, again := submit("sleep 300"), submit("sleep 300"), submit("sleep 300"), submit("sleep 300")
	all := []compute.Allocation{ours, users, admins, again}
	t.Cleanup(func() {
		for _, a := range all {
			_ = root.Cancel(context.WithoutCancel(t.Context()), slurm.JobID{Number: a.SlurmJobID})
		}
	})
	for _, a := range all {
		until("active", a, active)
	}
	twin, err := client.Submit(t.Context(), slurm.Submission{Script: []byte(fmt.Sprintf(
		"#!/bin/bash\n#SBATCH --job-name=%q --account=research --partition=debug --mem=20M --output=/dev/null\nsleep 300\n", ours.JobName))})
	if err != nil {
		t.Fatal(err)
	}
	until("a twin is canceled", compute.Allocation{SlurmJobID: twin.ID.Number}, func(all []compute.Allocation) bool {
		return len(all) == 1 && all[0].IsDuplicate && all[0].Cause == compute.AllocationCanceled
	})

	if _, err := s.Allocations.RequestCancel(t.Context(), []int64{ours.ID}, "no work is left"); err != nil {
		t.Fatal(err)
	}
	for _, kill := range []struct {
		by *slurm.Client
		a  compute.Allocation
	}{{client, users}, {root, admins}} {
		if err := kill.by.Cancel(t.Context(), slurm.JobID{Number: kill.a.SlurmJobID}); err != nil {
			t.Fatal(err)
		}
	}
	requeue := slurm.Command{Program: slurm.Scontrol, Args: []string{"requeue", fmt.Sprint(again.SlurmJobID)}}
	if out, err := real.Root().Run(t.Context(), requeue); err != nil || out.ExitCode != 0 {
		t.Fatalf("scontrol requeue: %s, %v", out.Stderr, err)
	}
	until("done", ok, ended(compute.AllocationDone))
	until("failed", fails, ended(compute.AllocationFailed))
	until("canceled", ours, ended(compute.AllocationCanceled))
	until("canceled by its owner", users, ended(compute.AllocationCanceledUser))
	until("canceled by root", admins, ended(compute.AllocationCanceledAdmin))
	until("another start", again, func(all []compute.Allocation) bool {
		return len(all) == 2 && all[0].Cause == compute.AllocationRequeued && all[1].State == compute.AllocationPending && all[1].RestartCount == 1
	})
	left, err := s.Allocations.Live(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range left {
		if _, err := s.Allocations.RequestCancel(t.Context(), []int64{a.ID}, "the test is over"); err != nil {
			t.Fatal(err)
		}
	}
	loop.Wake()
	until("canceled after its second start", again, ended(compute.AllocationCanceled))
	live, err := s.Allocations.Live(t.Context())
	if err != nil || len(live) > 0 {
		t.Errorf("still live: %+v, %v", live, err)
	}
	findings, err := check.Deep(t.Context(), s.Path(), check.Witness{})
	if err != nil || len(findings) > 0 {
		t.Errorf("%v, %v", findings, err)
	}
}
