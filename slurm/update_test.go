package slurm_test

import (
	"context"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/slurm/slurmtest"
)

// TestSetPartitions: a waiting job may start in any of them, and impossible ones are
// rejected.
func TestSetPartitions(t *testing.T) {
	real := slurmtest.UseReal(t)
	client := slurm.New(slurm.Options{Executor: real.User()})
	job, err := client.Submit(t.Context(), slurm.Submission{Dir: real.Dir(t), Script: []byte(
		"#!/bin/sh\n#SBATCH --account=research --partition=debug --time=1 --mem=50M --begin=now+3600 --output=/dev/null\ntrue\n")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Cancel(context.WithoutCancel(t.Context()), job.ID) })
	if err := client.SetPartitions(t.Context(), job.ID, []string{"debug", "standby"}); err != nil {
		t.Fatal(err)
	}
	queue, err := client.Queue(t.Context(), slurm.QueueQuery{IDs: []slurm.JobID{job.ID}})
	if err != nil {
		t.Fatal(err)
	}
	if seen, found := queue.Find(job.ID); !found || seen.Partition != "debug,standby" {
		t.Errorf("its partitions are %q", seen.Partition)
	}
	if err := client.SetPartitions(t.Context(), job.ID, []string{"debug", "nowhere"}); slurm.ClassOf(err) != slurm.Permanent {
		t.Errorf("a partition that does not exist: %v", err)
	}
}

// TestSetTimeLimit: a pending job may get a shorter limit, and what cannot be is refused.
func TestSetTimeLimit(t *testing.T) {
	real := slurmtest.UseReal(t)
	client := slurm.New(slurm.Options{Executor: real.User()})
	job, err := client.Submit(t.Context(), slurm.Submission{Dir: real.Dir(t), Script: []byte(
		"#!/bin/sh\n#SBATCH --account=research --time=60 --mem=50M --begin=now+3600 --output=/dev/null\ntrue\n")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Cancel(context.WithoutCancel(t.Context()), job.ID) })
	if err := client.SetTimeLimit(t.Context(), job.ID, 90*time.Second); err != nil {
		t.Fatal(err)
	}
	queue, err := client.Queue(t.Context(), slurm.QueueQuery{IDs: []slurm.JobID{job.ID}})
	if err != nil {
		t.Fatal(err)
	}
	if seen, found := queue.Find(job.ID); !found || seen.TimeLimit != 2*time.Minute {
		t.Errorf("its limit is %v", seen.TimeLimit)
	}
	for _, limit := range []time.Duration{0, -time.Hour, slurm.Unlimited, slurm.NoDuration} {
		if err := client.SetTimeLimit(t.Context(), job.ID, limit); slurm.ClassOf(err) != slurm.Permanent {
			t.Errorf("the limit %v: %v", limit, err)
		}
	}
	if err := client.SetTimeLimit(t.Context(), slurm.JobID{Number: 9_999_999}, time.Minute); slurm.ClassOf(err) != slurm.NotFound {
		t.Errorf("a job that is not there: %v", err)
	}
}
