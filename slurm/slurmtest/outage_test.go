package slurmtest_test

import (
	"sync"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/slurm/slurmtest"
)

// TestRealOutages stops Slurm's daemons: queries fail as no information, requests fail as
// not carried out, and both work again afterwards. A job that ended while accounting was
// down is in it later.
func TestRealOutages(t *testing.T) {
	r := slurmtest.UseRealAlone(t)
	client := slurm.New(slurm.Options{Executor: r.User()})
	asks := func() error {
		_, err := client.Queue(t.Context(), slurm.QueueQuery{User: slurmtest.TestUser})
		return err
	}
	accounts := func(id slurm.JobID) (slurm.Accounting, error) {
		return client.Accounting(t.Context(), slurm.AccountingQuery{IDs: []slurm.JobID{id}, Since: time.Now().Add(-time.Hour)})
	}
	dir := r.Dir(t)
	tells := func() (slurm.JobID, error) {
		job, err := client.Submit(t.Context(), slurm.Submission{Script: []byte("#!/bin/sh\nsleep 1\n"), Dir: dir, Args: []string{"-t1"}})
		return job.ID, err
	}
	nobody := slurm.JobID{Number: 99_999_999}

	for _, part := range []string{"slurmctld", "munged"} {
		r.Stop(t, part)
		var all sync.WaitGroup // in parallel: each client tries for ten seconds
		all.Go(func() {
			if err := asks(); slurm.ClassOf(err) != slurm.Unavailable {
				t.Errorf("without %s squeue: %v", part, err)
			}
		})
		all.Go(func() {
			if id, err := tells(); slurm.ClassOf(err) != slurm.Temporary {
				t.Errorf("without %s sbatch: %s, %v", part, id, err)
			}
		})
		all.Go(func() {
			if err := client.Cancel(t.Context(), nobody); err == nil {
				t.Errorf("without %s scancel does not fail", part)
			}
		})
		all.Go(func() {
			if _, found, err := client.ShowJob(t.Context(), nobody); found || slurm.ClassOf(err) != slurm.Unavailable {
				t.Errorf("without %s scontrol: %v, %v", part, found, err)
			}
		})
		all.Wait()
		r.Start(t, part)
		slurmtest.Eventually(t, 30*time.Second, part+" is back", func() bool { return asks() == nil })
	}

	r.Stop(t, "slurmdbd")
	if _, err := accounts(nobody); slurm.ClassOf(err) != slurm.Unavailable {
		t.Errorf("without slurmdbd sacct: %v", err)
	}
	id, err := tells()
	if err != nil {
		t.Fatalf("without slurmdbd sbatch: %v", err)
	}
	slurmtest.Eventually(t, 30*time.Second, "the job completes without slurmdbd", func() bool {
		queue, err := client.Queue(t.Context(), slurm.QueueQuery{User: slurmtest.TestUser})
		job, _ := queue.Find(id)
		return err == nil && job.State == slurm.Completed
	})
	r.Start(t, "slurmdbd")
	slurmtest.Eventually(t, 60*time.Second, "accounting learns of the job", func() bool {
		records, err := accounts(id)
		return err == nil && len(records.Restarts(id)) == 1 && records.Restarts(id)[0].State == slurm.Completed
	})
}
