package runner

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/torc-slurm/torc-slurm/runner/output"
	"github.com/torc-slurm/torc-slurm/runner/process"
	"github.com/torc-slurm/torc-slurm/runner/runnertest"
	"github.com/torc-slurm/torc-slurm/runner/steps"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/slurm/slurmtest"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// stepper is an srun without processes: it has the fake cluster start a step, which takes
// as long as a real one, and the step then runs as long as its command says.
type stepper struct {
	cluster *slurmtest.Cluster
	mu      sync.Mutex
	refused int
	started map[string]int // by step name
}

// refusalTime is how long a real srun tries to reach the controller.
const refusalTime = 9 * time.Second

func (s *stepper) Start(c *process.Command, exited func(process.Exit)) (int, error) {
	program := slices.Index(c.Argv, "-c")
	name := c.Argv[slices.IndexFunc(c.Argv, func(arg string) bool { return strings.HasPrefix(arg, "--job-name=") })]
	out, err := s.cluster.Run(context.Background(), slurm.Command{Program: slurm.Srun, Args: c.Argv[1 : program-1], Env: c.Env})
	if err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if out.ExitCode != 0 {
		s.refused++
		if err := os.MkdirAll(filepath.Dir(c.Stderr), 0o700); err != nil {
			return 0, err
		}
		if err := os.WriteFile(c.Stderr, out.Stderr, 0o600); err != nil {
			return 0, err
		}
		time.AfterFunc(refusalTime, func() { exited(process.Exit{Code: out.ExitCode, At: time.Now()}) })
		return 0, nil
	}
	took, err := time.ParseDuration(c.Argv[program+1])
	if err != nil {
		return 0, err
	}
	s.started[name]++
	time.AfterFunc(took, func() { exited(process.Exit{At: time.Now()}) })
	return 0, nil
}

// allocated is a runner of steps in an allocation of a fake cluster, under a virtual
// clock.
type allocated struct {
	cluster  *slurmtest.Cluster
	executor *stepper
	daemon   *runnertest.Daemon
	dir      string
	*Runner
}

func inAllocation(t *testing.T, dir string, limit time.Duration, jobs ...runnertest.Job) *allocated {
	t.Helper()
	cluster := slurmtest.New(slurmtest.Options{})
	client := slurm.New(slurm.Options{Executor: cluster})
	job, err := client.Submit(t.Context(), slurm.Submission{Script: []byte("#!/bin/sh\nsleep 100000\n"), Dir: "/", Args: []string{"-t", "600"}})
	if err != nil {
		t.Fatal(err)
	}
	cluster.Advance()
	w := &allocated{cluster: cluster, executor: &stepper{cluster: cluster, started: map[string]int{}}, daemon: runnertest.New(jobs...), dir: dir}
	w.daemon.Welcome.ExecutionConfig = &workflow.ExecutionConfig{Mode: "slurm"}
	w.Runner, err = New(Options{
		Client: w.daemon, WorkflowID: 1, OutputDir: dir, Executor: w.executor, TimeLimit: limit,
		Resources: Resources{CPUs: 2, MemoryBytes: 1 << 30},
		Steps:     &steps.Starter{Slurm: client, Job: job.ID, Srun: "true"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestStepsWaitForSlurm: while srun gets no answer, jobs wait with their leases for ten
// minutes, and then each runs once.
func TestStepsWaitForSlurm(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		var jobs []runnertest.Job
		for range 6 {
			jobs = append(jobs, job("20s"))
		}
		w := inAllocation(t, dir, 0, jobs...)
		var up func()
		time.AfterFunc(10*time.Second, func() { up = w.cluster.Inject(slurmtest.ControllerDown()) })
		time.AfterFunc(610*time.Second, func() { up() })
		began := time.Now()
		s, err := w.Run(t.Context())
		if err != nil || !s.Complete {
			t.Fatalf("%+v, %v", s, err)
		}
		for id := int64(1); id <= 6; id++ {
			if j := w.daemon.Job(id); j.Status != workflow.Completed || len(j.Attempts) != 1 {
				t.Errorf("job %d is %s, attempts %+v", id, j.Status, j.Attempts)
			}
		}
		if len(w.executor.started) != 6 || s.Started != 6 || w.executor.refused != 2 {
			t.Errorf("started %v, %d according to the summary, %d rejected", w.executor.started, s.Started, w.executor.refused)
		}
		if took := time.Since(began); took > 12*time.Minute {
			t.Errorf("it took %s", took)
		}
		paused := w.daemon.Paused()
		if len(paused) == 0 || !strings.Contains(paused[0].Reason, "Unable to contact slurm controller") ||
			slices.ContainsFunc(paused, func(p workflow.LaunchPause) bool { return p != paused[0] }) {
			t.Errorf("paused: %v", paused)
		}
		if n := w.daemon.Job(3).NotStarted + w.daemon.Job(4).NotStarted; n != 2 {
			t.Errorf("%d starts were revoked", n)
		}
		for _, name := range logNames(t, dir) {
			if strings.Contains(name, ".1") {
				t.Errorf("output of a step that was not started is left: %s", name)
			}
		}
		noViolations(t, w.daemon)
	})
}

// TestStepsWaitUntilTheEnd: jobs that were never started are returned when the
// allocation's time is over.
func TestStepsWaitUntilTheEnd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := inAllocation(t, dir, 5*time.Minute, job("20s"), job("20s"), job("20s"))
		w.cluster.Inject(slurmtest.ControllerDown())
		if s, err := w.Run(t.Context()); err != nil || s.Started != 0 || s.Attempts != 0 {
			t.Errorf("%+v, %v", s, err)
		}
		for id := int64(1); id <= 3; id++ {
			if j := w.daemon.Job(id); j.Status != workflow.Ready || len(j.Attempts) != 0 {
				t.Errorf("job %d is %s, attempts %+v", id, j.Status, j.Attempts)
			}
		}
		noViolations(t, w.daemon)
	})
}

// TestStepsWaitForRoom: a controller that was restarted counts steps that have ended, and
// finds no room for others. They wait.
func TestStepsWaitForRoom(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := inAllocation(t, dir, 0, job("20s"), job("20s"), job("20s"))
		agree := w.cluster.Inject(slurmtest.Refusal(slurm.Srun, "srun: error: Unable to create step for job 2: Memory required by task is not available"))
		time.AfterFunc(30*time.Second, agree)
		if s, err := w.Run(t.Context()); err != nil || !s.Complete || s.Attempts != 3 {
			t.Errorf("%+v, %v", s, err)
		}
		for id := int64(1); id <= 3; id++ {
			if j := w.daemon.Job(id); j.Status != workflow.Completed || len(j.Attempts) != 1 {
				t.Errorf("job %d is %s, attempts %+v", id, j.Status, j.Attempts)
			}
		}
		noViolations(t, w.daemon)
	})
}

// TestStepThatCannotStart: a step that Slurm keeps rejecting is an attempt.
func TestStepThatCannotStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := inAllocation(t, dir, 0, job("20s"))
		w.cluster.Inject(slurmtest.Refusal(slurm.Srun, "srun: error: Requested node configuration is not available"))
		if s, err := w.Run(t.Context()); err != nil || s.Attempts != 1 {
			t.Errorf("%+v, %v", s, err)
		}
		if e := w.daemon.Job(1).Attempts[0].Evidence; !strings.Contains(e.SpawnError, "Requested node configuration") || e.ExitCode != nil {
			t.Errorf("%+v", e)
		}
	})
}

// TestErrorsOfSrunAreDistinguished: a command that ends in the same way as a failing srun is
// an attempt, and so is one whose own srun fails.
func TestErrorsOfSrunAreDistinguished(t *testing.T) {
	t.Parallel()
	environ, program := steps.SeparateSrunErrors([]string{"A=1"}, []string{"bash", "-c", "x"})
	if want := []string{"A=1", "SLURM_EXIT_ERROR=213"}; !slices.Equal(environ, want) {
		t.Errorf("%q", environ)
	}
	if want := []string{"/usr/bin/env", "-u", "SLURM_EXIT_ERROR", "bash", "-c", "x"}; !slices.Equal(program, want) {
		t.Errorf("%q", program)
	}
	environ, program = steps.SeparateSrunErrors([]string{"SLURM_EXIT_ERROR=3", "A=1"}, []string{"x"})
	if !slices.Equal(environ, []string{"A=1", "SLURM_EXIT_ERROR=213"}) || !slices.Equal(program, []string{"/usr/bin/env", "SLURM_EXIT_ERROR=3", "x"}) {
		t.Errorf("%q, %q", environ, program)
	}
	stderr := filepath.Join(t.TempDir(), "e")
	const nested = "srun: error: Unable to confirm allocation for job 2: Unable to contact slurm controller (connect failure)\n"
	if err := os.WriteFile(stderr, []byte(nested), 0o600); err != nil {
		t.Fatal(err)
	}
	f := findings{step: true, exit: &process.Exit{Code: 1}, files: output.Files{Stderr: stderr}}
	if got := f.rejectedStart(); got != nil {
		t.Errorf("an srun of the job: %+v", got)
	}
	f.exit.Code = slurm.SrunErrorCode
	if err := os.WriteFile(stderr, []byte("error: 213\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := f.rejectedStart(); got != nil {
		t.Errorf("a command's own code: %+v", got)
	}
}
