package slurmtest_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/slurm/slurmtest"
)

func testRefused(t *testing.T, s *site) {
	for _, tc := range []struct {
		arg  string
		code string
	}{
		{"--account=nobody", "ESLURM_INVALID_ACCOUNT"},
		{"--partition=nowhere", "ESLURM_INVALID_PARTITION_NAME"},
		{"--time=9-00:00:00", "ESLURM_INVALID_TIME_LIMIT"},
		{"--time=soon", "ESLURM_INVALID_TIME_LIMIT"},
		{"--qos=royal", "ESLURM_INVALID_QOS"},
		{"--mem=99999G", "ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE"},
		{"--cpus-per-task=99", "ESLURM_TOO_MANY_REQUESTED_CPUS"},
		{"--no-such-option", ""},
	} {
		id, err := s.try(t, "true", "-t5", tc.arg)
		e := (*slurm.Error)(nil)
		if !errors.As(err, &e) || e.Class != slurm.Permanent || tc.code != "" && e.Code != tc.code || e.ExitCode == 0 || e.Text == "" {
			t.Errorf("%s: job %v, error %+v", tc.arg, id, e)
		}
	}
	_, err := s.user.Submit(t.Context(), slurm.Submission{Script: []byte("true\n")})
	if slurm.ClassOf(err) != slurm.Permanent {
		t.Errorf("a script without an interpreter: %v", err)
	}
}

func testLimits(t *testing.T, s *site) {
	account := "--account=" + slurmtest.LimitedAccount
	if _, err := s.try(t, "true", account, "-t40"); errorCode(err) != "QOSMaxWallDurationPerJobLimit" || slurm.ClassOf(err) != slurm.Permanent {
		t.Errorf("too long: %v", err)
	}
	var last slurm.JobID
	for range 4 {
		last = s.submit(t, "sleep 100", account, "-t5")
	}
	if _, err := s.try(t, "true", account, "-t5"); errorCode(err) != "QOSMaxSubmitJobPerUserLimit" || slurm.ClassOf(err) != slurm.Limit {
		t.Errorf("one too many: %v", err)
	}
	s.eventually(t, time.Minute, "the fourth job waits because of its QOS", func() bool {
		job := s.find(t, last)
		return job.State == slurm.Pending && job.Reason == "QOSMaxJobsPerUserLimit"
	})
}

func testEstimate(t *testing.T, s *site) {
	script := []byte("#!/bin/sh\ntrue\n")
	start, err := s.user.Estimate(t.Context(), slurm.Submission{Script: script, Dir: s.dir(t), Args: []string{"-t5"}})
	if err != nil || start.Before(s.since) {
		t.Errorf("%v, %v", start, err)
	}
	_, err = s.user.Estimate(t.Context(), slurm.Submission{Script: script, Dir: s.dir(t), Args: []string{"-t5", "--partition=nowhere"}})
	if slurm.ClassOf(err) != slurm.Permanent {
		t.Errorf("%v", err)
	}
}

func errorCode(err error) string {
	if e := (*slurm.Error)(nil); errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// That a healthy controller does not know a job is an answer.
func testAbsent(t *testing.T, s *site) {
	nobody := slurm.JobID{Number: 99_999_999}
	if queue, err := s.user.Queue(t.Context(), slurm.QueueQuery{IDs: []slurm.JobID{nobody}}); err != nil || len(queue.Jobs) != 0 {
		t.Errorf("queue: %+v, %v", queue, err)
	}
	if _, found, err := s.user.ShowJob(t.Context(), nobody); found || err != nil {
		t.Errorf("show job: %v, %v", found, err)
	}
	if records, err := s.user.Accounting(t.Context(), slurm.AccountingQuery{IDs: []slurm.JobID{nobody}, Since: s.since}); err != nil || len(records.Records) != 0 {
		t.Errorf("accounting: %+v, %v", records, err)
	}
	if err := s.user.Cancel(t.Context(), nobody); err != nil {
		t.Errorf("cancel: %v", err)
	}
	if err := s.user.SetComment(t.Context(), nobody, "x"); slurm.ClassOf(err) != slurm.NotFound {
		t.Errorf("comment: %v", err)
	}
}

func testDependency(t *testing.T, s *site) {
	first := s.submit(t, "sleep 3\nexit 1", "-t5")
	second := s.submit(t, "true", "-t5", "--dependency=afterany:"+first.String())
	never := s.submit(t, "true", "-t5", "--dependency=afterok:"+first.String())
	if job := s.find(t, second); job.State != slurm.Pending || job.Reason != "Dependency" || !strings.Contains(job.Dependency, first.String()) {
		t.Errorf("job: %+v", job)
	}
	s.until(t, second, slurm.Completed)
	s.eventually(t, time.Minute, "the other can never start", func() bool {
		return s.find(t, never).Reason == "DependencyNeverSatisfied"
	})
}

// Names and comments may contain characters that separate columns elsewhere.
func testNames(t *testing.T, s *site) {
	for _, name := range []string{
		"torc:a-name.of_64-bytes.0123456789.0123456789.0123.r12.0a1b2c3d",
		"a b|c;d,e",
		`quote " and ' and %j`,
	} {
		id := s.submit(t, "sleep 100", "-t5", "--begin=now+3600", "--job-name="+name, "--comment=120/500 done | 3 failed, \"x\"")
		if job := s.find(t, id); job.Name != name || job.Comment != "120/500 done | 3 failed, \"x\"" {
			t.Errorf("%q became %q, with the comment %q", name, job.Name, job.Comment)
		}
		detail, found, err := s.user.ShowJob(t.Context(), id)
		if err != nil || !found || detail.Name != name {
			t.Errorf("%q is shown as %q, %v, %v", name, detail.Name, found, err)
		}
		if strings.ContainsAny(name, `,'"`) {
			continue // --name takes a list, and sacct does not find quotes
		}
		queue, err := s.user.Queue(t.Context(), slurm.QueueQuery{Names: []string{name}})
		if _, found := queue.Find(id); err != nil || !found || len(named(queue, name)) != len(queue.Jobs) {
			t.Errorf("%q is not found by its name: %+v, %v", name, queue, err)
		}
		s.accounted(t, id, slurm.Pending)
		records, err := s.user.Accounting(t.Context(), slurm.AccountingQuery{Names: []string{name}, User: slurmtest.TestUser, Since: s.since, JobsOnly: true})
		if err != nil || len(records.Restarts(id)) != 1 || records.Restarts(id)[0].Name != name {
			t.Errorf("%q is not found in accounting by its name: %+v, %v", name, records, err)
		}
	}
}

func testComment(t *testing.T, s *site) {
	id := s.submit(t, "sleep 100", "-t5", "--begin=now+3600")
	const comment = "7/9 done, 1 failed = not good, 1 running"
	if err := s.user.SetComment(t.Context(), id, comment); err != nil {
		t.Fatal(err)
	}
	if job := s.find(t, id); job.Comment != comment {
		t.Errorf("comment %q", job.Comment)
	}
	if detail, _, err := s.user.ShowJob(t.Context(), id); err != nil || detail.Comment != comment {
		t.Errorf("comment %q, %v", detail.Comment, err)
	}
	scontrol(t, s.programs, "update", "JobId="+id.String(), "ExcNodeList="+slurm.JoinNodes([]string{"n3", "n1"}))
	detail, _, err := s.user.ShowJob(t.Context(), id)
	hosts, expandErr := slurm.ExpandNodes(detail.ExcludedList)
	if err != nil || expandErr != nil || slurm.JoinNodes(hosts) != "n1,n3" {
		t.Errorf("excluded: %v, %v, %v", hosts, err, expandErr)
	}
}

func testTwoNodes(t *testing.T, s *site) {
	id := s.submit(t, "sleep 2", "-t5", "--nodes=2", "--ntasks-per-node=1", "--exclude=n2")
	job := s.until(t, id, slurm.Completed)
	hosts, err := slurm.ExpandNodes(job.NodeList)
	if err != nil || len(hosts) != 2 || job.Nodes != 2 || strings.Contains(slurm.JoinNodes(hosts), "n2") {
		t.Errorf("nodes %v of %+v, %v", hosts, job, err)
	}
}
