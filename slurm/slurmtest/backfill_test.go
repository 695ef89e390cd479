package slurmtest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/slurm/slurmtest"
)

// estimates returns when pending jobs would start, in minutes from now; "-" if unknown.
func estimates(t *testing.T, client *slurm.Client, now time.Time, ids ...slurm.JobID) string {
	t.Helper()
	queue, err := client.Queue(t.Context(), slurm.QueueQuery{})
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, id := range ids {
		job, _ := queue.Find(id)
		switch {
		case job.State != slurm.Pending:
			words = append(words, string(job.State))
		case job.Start.IsZero():
			words = append(words, "-")
		default:
			words = append(words, job.Start.Sub(now).String())
		}
	}
	return strings.Join(words, " ")
}

// TestBackfillEstimates: each job starts when those before it have reached their limits;
// short ones fit in before.
func TestBackfillEstimates(t *testing.T) {
	c, client, clock := virtual(t, slurmtest.Options{Nodes: []slurmtest.Node{{Name: "n1", CPUs: 4, Memory: 4000 * slurm.MiB}, {Name: "n2", CPUs: 4, Memory: 4000 * slurm.MiB}}})
	var ids []slurm.JobID
	add := func(args ...string) {
		t.Helper()
		id, err := submit(t, client, "sleep 100000", args...)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	add("-c4", "-t60", "--nodelist=n1") // runs
	add("-N2", "-c4", "-t30")           // after it
	add("-c4", "-t120")                 // n2 is free, and nothing in the fake keeps it
	add("-c4", "-t10")                  // between
	add("-c4", "-t10", "--begin=now+7200")
	add("-c4", "-t10", "--hold")
	if got := estimates(t, client, clock.Now(), ids...); got != "RUNNING 2h0m0s RUNNING 1h0m0s 2h0m0s -" {
		t.Errorf("%s", got)
	}
	ask := func(args ...string) string {
		start, err := client.Estimate(t.Context(), slurm.Submission{Script: []byte("#!/bin/sh\n"), Args: args})
		if err != nil {
			return string(slurm.ClassOf(err))
		}
		return start.Sub(clock.Now()).String()
	}
	for args, want := range map[string]string{
		"-t10 -c4": "1h10m0s", "-t50 -c4": "1h10m0s", "-t51 -c4": "2h30m0s", "-t10 -N2 -c1": "2h40m0s", "-t10 -N3": "permanent",
	} {
		if got := ask(strings.Fields(args)...); got != want {
			t.Errorf("%s: %s", args, got)
		}
	}
	if len(c.Jobs()) != len(ids) {
		t.Errorf("jobs: %v", c.Jobs())
	}
	c.DrainNode("n1", "test")
	c.DrainNode("n2", "test")
	if got := ask("-t10"); got != "permanent" {
		t.Errorf("on drained nodes: %s", got)
	}
}

// TestPlannedNodes: what a pending job is going to use is marked, and nothing else.
func TestPlannedNodes(t *testing.T) {
	c, client, clock := virtual(t, slurmtest.Options{})
	states := func() string {
		loads, err := client.NodeLoads(t.Context())
		if err != nil || loads.Skipped > 0 || !loads.At.Equal(clock.Now()) {
			t.Fatalf("%+v, %v", loads, err)
		}
		var words []string
		for _, n := range loads.Nodes {
			words = append(words, n.State+n.Flags)
		}
		return strings.Join(words, " ")
	}
	if got := states(); got != "idle idle idle idle" {
		t.Errorf("%s", got)
	}
	for _, args := range [][]string{{"-t60", "--nodelist=n1"}, {"-t30", "-N3", "--exclusive", "--exclude=n4"}} {
		if _, err := submit(t, client, "sleep 100000", args...); err != nil {
			t.Fatal(err)
		}
	}
	if got := states(); got != "mixed planned planned idle" {
		t.Errorf("%s", got)
	}
	now := clock.Now()
	c.Reserve(slurmtest.Reservation{Name: "repair", Start: now, End: now.Add(10 * time.Minute), Nodes: []string{"n1", "n4"}, Flags: []string{"MAINT"}})
	c.Reserve(slurmtest.Reservation{Name: "class", Start: now.Add(5 * time.Minute), End: now.Add(10 * time.Minute), Nodes: []string{"n2"}})
	c.KillNode("n3", true)
	if got := states(); got != "mixed$ planned idle* maint" {
		t.Errorf("%s", got)
	}
	step(clock, c, 5*time.Minute)
	if got := states(); got != "mixed$ reserved down* maint" {
		t.Errorf("%s", got)
	}
	c.Unreserve("class")
	step(clock, c, 5*time.Minute)
	if got := states(); got != "mixed idle down* idle" {
		t.Errorf("%s", got)
	}
	if all, err := client.Reservations(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("%+v, %v", all, err)
	}
}

// TestReservedJobs: who waits for a reservation, or for its end, starts in time without
// being asked.
func TestReservedJobs(t *testing.T) {
	c, client, clock := virtual(t, slurmtest.Options{Nodes: []slurmtest.Node{{Name: "n1", CPUs: 4, Memory: 4000 * slurm.MiB}}})
	now := clock.Now()
	c.Reserve(slurmtest.Reservation{Name: "class", Start: now.Add(time.Hour), End: now.Add(2 * time.Hour), Nodes: []string{"n1"}, Users: []string{slurmtest.TestUser}})
	var ids []slurm.JobID
	for _, args := range [][]string{{"-t90"}, {"-t60"}, {"-t30", "--reservation=class"}, {"-t70", "--reservation=class"}} {
		id, err := submit(t, client, "sleep 100000", args...)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	if got := estimates(t, client, now, ids...); got != "2h0m0s RUNNING - -" {
		t.Errorf("%s", got)
	}
	step(clock, c, time.Hour)
	if got := estimates(t, client, now, ids...); got != "2h0m0s TIMEOUT RUNNING -" { // the last one is too long for it
		t.Errorf("%s", got)
	}
	step(clock, c, time.Hour)
	queue, err := client.Queue(t.Context(), slurm.QueueQuery{IDs: ids[:1]})
	if job, _ := queue.Find(ids[0]); err != nil || job.State != slurm.Running || !job.Start.Equal(now.Add(2*time.Hour)) {
		t.Errorf("%+v, %v", job, err)
	}
}
