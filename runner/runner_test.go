package runner

import (
	"testing"

	"github.com/torc-slurm/torc-slurm/runner/runnertest"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

func TestRunsJobsToTheEnd(t *testing.T) {
	d := runnertest.New(
		job("echo out; echo err >&2"),
		job("exit 3"),
		job("kill -SEGV $$"),
		runnertest.Job{Grant: lease.Grant{Command: "true"}, After: []int64{1, 2}},
	)
	o := testOptions(t, d)
	s := run(t, o)
	if !s.Complete || s.Attempts != 4 || s.Started != 4 || s.Undelivered != 0 {
		t.Errorf("summary %+v", s)
	}
	for id, want := range map[int64]workflow.JobStatus{1: workflow.Completed, 2: workflow.Failed, 3: workflow.Failed, 4: workflow.Completed} {
		if got := d.Job(id); got.Status != want || len(got.Attempts) != 1 {
			t.Errorf("job %d is %v after %d attempts, want %v", id, got.Status, len(got.Attempts), want)
		}
	}
	if e := d.Job(2).Attempts[0].Evidence; e.ExitCode == nil || *e.ExitCode != 3 || e.Signal != 0 {
		t.Errorf("job 2: %+v", e)
	}
	if e := d.Job(3).Attempts[0].Evidence; e.ExitCode != nil || e.Signal != 11 {
		t.Errorf("job 3: %+v", e)
	}
	if out, err := logText(t, o.OutputDir, 1, 1, ".o"), logText(t, o.OutputDir, 1, 1, ".e"); out != "out\n" || err != "err\n" {
		t.Errorf("output %q, %q", out, err)
	}
	if len(d.Left()) != 1 {
		t.Errorf("left %d times", len(d.Left()))
	}
	noViolations(t, d)
}

func TestChain(t *testing.T) {
	var jobs []runnertest.Job
	for i := range 50 {
		j := job("true")
		if i > 0 {
			j.After = []int64{int64(i)}
		}
		jobs = append(jobs, j)
	}
	d := runnertest.New(jobs...)
	s := run(t, testOptions(t, d))
	if s.Attempts != 50 || s.ByStatus[workflow.Completed] != 50 {
		t.Errorf("summary %+v", s)
	}
	noViolations(t, d)
}

func TestManyJobs(t *testing.T) {
	t.Parallel()
	const n = 400
	var jobs []runnertest.Job
	for range n {
		jobs = append(jobs, job("true"))
	}
	d := runnertest.New(jobs...)
	o := testOptions(t, d)
	s := run(t, o)
	if s.ByStatus[workflow.Completed] != n {
		t.Errorf("summary %+v", s)
	}
	if names := logNames(t, o.OutputDir); len(names) != 2*n {
		t.Errorf("%d output files", len(names))
	}
	t.Logf("%d jobs in %s with %d turns", n, s.Duration, d.Calls())
	noViolations(t, d)
}
