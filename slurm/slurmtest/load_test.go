package slurmtest_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/slurm/slurmtest"
)

// load returns a node as sinfo has it.
func (s *site) load(t *testing.T, name string) slurm.NodeLoad {
	t.Helper()
	loads, err := s.user.NodeLoads(t.Context())
	if err != nil || loads.Skipped > 0 {
		t.Fatalf("%d rows of the nodes could not be read, %v", loads.Skipped, err)
	}
	i := slices.IndexFunc(loads.Nodes, func(n slurm.NodeLoad) bool { return n.Name == name })
	if i < 0 || len(loads.Nodes) != 4 {
		t.Fatalf("nodes: %+v", loads.Nodes)
	}
	return loads.Nodes[i]
}

// testLoad: what a job has of a node is not free. Other tests may use the node, too.
func testLoad(t *testing.T, s *site) {
	id := s.submit(t, "sleep 100", "-t5", "--nodelist=n4", "-n2", "--mem=300", "--gres=gpu:1")
	s.until(t, id, slurm.Running)
	n := s.load(t, "n4")
	if diff := cmp.Diff([]string{"debug", "scavenge", "standby"}, n.Partitions); diff != "" {
		t.Errorf("partitions (-want +got):\n%s", diff)
	}
	if n.CPUs != 4 || n.Memory != 4000*slurm.MiB || n.GPUs != 2 || n.Features != nil {
		t.Errorf("it has: %+v", n)
	}
	if n.AllocatedCPUs < 2 || n.AllocatedMemory < 300*slurm.MiB || n.AllocatedGPUs < 1 || n.State != "mixed" && n.State != "allocated" {
		t.Errorf("it is used: %+v", n)
	}
	if n.FreeCPUs() != 4-n.AllocatedCPUs || n.FreeMemory() != n.Memory-n.AllocatedMemory || n.FreeGPUs() != 2-n.AllocatedGPUs || !n.Usable() {
		t.Errorf("it has %d CPUs, %d bytes, %d GPUs free: %+v", n.FreeCPUs(), n.FreeMemory(), n.FreeGPUs(), n)
	}
	if first := s.load(t, "n1"); first.CPUs != 4 || first.GPUs != 0 || first.AllocatedGPUs != 0 {
		t.Errorf("n1: %+v", first)
	}
}

// reserve makes a reservation, which the end of the test removes.
func (s *site) reserve(t *testing.T, name string, words ...string) slurm.Reservation {
	t.Helper()
	s.admin(t, append([]string{"create", "reservation", "ReservationName=" + name}, words...)...)
	t.Cleanup(func() { s.admin(t, "delete", "ReservationName="+name) })
	all, err := s.user.Reservations(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		if r.Name == name {
			return r
		}
	}
	t.Fatalf("%s is not among %+v", name, all)
	return slurm.Reservation{}
}

// testReservation: a job that could still run in a reservation does not start on its
// nodes; with a shorter limit it does.
func testReservation(t *testing.T, s *site) {
	r := s.reserve(t, "repair", "StartTime=now+10hours", "Duration=120", "Users=root", "Nodes=n1", "Flags=MAINT,IGNORE_JOBS")
	if r.State != "INACTIVE" || r.Nodes != "n1" || r.NodeCount != 1 || r.Cores != 4 || !r.Maintenance() || !r.Has("IGNORE_JOBS") || r.Has("FLEX") ||
		r.End.Sub(r.Start) != 2*time.Hour || !slices.Equal(r.Users, []string{"root"}) || r.Accounts != nil || r.Partition != "" {
		t.Errorf("%+v", r)
	}
	id := s.submit(t, "sleep 100", "-t20:00:00", "--nodelist=n1", "--mem=50")
	var job slurm.Job
	s.eventually(t, time.Minute, "the job waits for the reservation to end", func() bool {
		job = s.find(t, id)
		return !job.Start.IsZero()
	})
	if job.State != slurm.Pending || job.Reason != "ReqNodeNotAvail, May be reserved for other job" || job.Start.Before(r.End) || job.Start.After(r.End.Add(time.Hour)) {
		t.Errorf("%s, %q, starts %v, %v after the reservation", job.State, job.Reason, job.Start, job.Start.Sub(r.End))
	}
	_, err := s.user.Estimate(t.Context(), slurm.Submission{Script: []byte("#!/bin/sh\n"), Dir: s.dir(t), Args: []string{"-t20:00:00", "--nodelist=n1"}})
	if slurm.ClassOf(err) != slurm.Permanent || errorCode(err) != "ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE" {
		t.Errorf("estimate: %v", err)
	}
	if err := s.user.SetTimeLimit(t.Context(), id, 5*time.Minute); err != nil {
		t.Fatal(err)
	}
	if job := s.until(t, id, slurm.Running); job.TimeLimit != 5*time.Minute {
		t.Errorf("its limit is %v", job.TimeLimit)
	}
}

// testReservedFor: a job that names a reservation waits for it. Only those may name it for
// whom it is.
func testReservedFor(t *testing.T, s *site) {
	s.reserve(t, "class", "StartTime=now+2days", "Duration=60", "Accounts="+slurmtest.DefaultAccount, "Nodes=n2", "Flags=IGNORE_JOBS")
	s.reserve(t, "others", "StartTime=now+3days", "Duration=60", "Users=root", "Nodes=n2", "Flags=IGNORE_JOBS")
	id := s.submit(t, "true", "-t5", "--reservation=class", "--nodes=1")
	s.eventually(t, time.Minute, "the job waits for its reservation", func() bool { return s.find(t, id).Reason == "Reservation" })
	if job := s.find(t, id); job.State != slurm.Pending || !job.Start.IsZero() {
		t.Errorf("%+v", job)
	}
	for _, name := range []string{"others", "nowhere"} {
		if _, err := s.try(t, "true", "-t5", "--reservation="+name); slurm.ClassOf(err) != slurm.Permanent {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := s.user.Estimate(t.Context(), slurm.Submission{Script: []byte("#!/bin/sh\n"), Dir: s.dir(t), Args: []string{"-t5", "--reservation=class"}})
	if slurm.ClassOf(err) == "" || slurm.ClassOf(err) == slurm.Withheld {
		t.Errorf("estimate: %v", err)
	}
}

// testSetTimeLimit: users may change the limit of a pending job within that of the
// partition, and may not lengthen that of a running job.
func testSetTimeLimit(t *testing.T, s *site) {
	id := s.submit(t, "sleep 100", "-t60", "--begin=now+3600", "--mem=50")
	for _, limit := range []time.Duration{10 * time.Minute, 2 * time.Hour, 61 * time.Second} {
		err := s.user.SetTimeLimit(t.Context(), id, limit)
		want := (limit + time.Minute - 1).Truncate(time.Minute)
		if job := s.find(t, id); err != nil || job.TimeLimit != want || job.State != slurm.Pending {
			t.Errorf("%v: it has %v, %v", limit, job.TimeLimit, err)
		}
	}
	if err := s.user.SetTimeLimit(t.Context(), id, 48*time.Hour); slurm.ClassOf(err) != slurm.Permanent {
		t.Errorf("longer than the partition's: %v", err)
	}
	running := s.submit(t, "sleep 100", "-t10", "--mem=50")
	s.until(t, running, slurm.Running)
	if err := s.user.SetTimeLimit(t.Context(), running, 20*time.Minute); slurm.ClassOf(err) != slurm.Permanent {
		t.Errorf("longer while it runs: %v", err)
	}
	if err := s.user.SetTimeLimit(t.Context(), running, 5*time.Minute); err != nil || s.find(t, running).TimeLimit != 5*time.Minute {
		t.Errorf("shorter while it runs: %v", err)
	}
	if err := s.user.SetTimeLimit(t.Context(), slurm.JobID{Number: 99_999_999}, time.Minute); slurm.ClassOf(err) != slurm.NotFound {
		t.Errorf("a job that does not exist: %v", err)
	}
}

// testEstimateBusy: a job waits for one that has its node until its limit, and Slurm says
// so before and after its submission.
func testEstimateBusy(t *testing.T, s *site) {
	first := s.submit(t, "sleep 100", "-t30", "--nodelist=n2", "--exclusive")
	end := s.until(t, first, slurm.Running).End
	args := []string{"-t5", "--nodelist=n2"}
	start, err := s.user.Estimate(t.Context(), slurm.Submission{Script: []byte("#!/bin/sh\ntrue\n"), Dir: s.dir(t), Args: args})
	if err != nil || start.Before(end.Add(-2*time.Second)) || start.After(end.Add(40*time.Minute)) {
		t.Errorf("before: %v, %v after its end, %v", start, start.Sub(end), err)
	}
	second := s.submit(t, "true", args...)
	s.eventually(t, time.Minute, "Slurm has an estimate", func() bool { return !s.find(t, second).Start.IsZero() })
	if job := s.find(t, second); job.State != slurm.Pending || job.Start.Before(end.Add(-2*time.Second)) || job.Start.After(end.Add(40*time.Minute)) {
		t.Errorf("after: %s starts %v, %v after its end", job.State, job.Start, job.Start.Sub(end))
	}
}
