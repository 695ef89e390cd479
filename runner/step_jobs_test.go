package runner

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/runner/runnertest"
	"github.com/torc-slurm/torc-slurm/runner/steps"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// fakeSrun returns a program that records its arguments and runs the command among them.
func fakeSrun(t *testing.T) (path, notes string) {
	t.Helper()
	dir := t.TempDir()
	path, notes = filepath.Join(dir, "srun"), filepath.Join(dir, "notes")
	text := "#!/bin/bash\necho \"$@\" >> " + notes + "\nwhile [[ $1 == --* ]]; do shift; done\nexec \"$@\"\n"
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return path, notes
}

// ledger records what steps have used.
type ledger struct {
	mu    sync.Mutex
	steps []api.SlurmStats
}

func (l *ledger) AccountSteps(_ context.Context, _ int64, accounts *api.StepAccounts) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.steps = append(l.steps, accounts.Steps...)
	return nil
}

// stepRecords is an accounting database with the steps of two jobs.
type stepRecords struct{}

func (stepRecords) Run(_ context.Context, cmd slurm.Command) (slurm.Output, error) {
	var names []string
	for _, arg := range cmd.Args {
		if list, ok := strings.CutPrefix(arg, "--format="); ok {
			names = strings.Split(list, ",")
		}
	}
	lines := []string{strings.Join(names, "\x1f")}
	for _, known := range []map[string]string{
		{"JobID": "77.0", "JobName": "wf1_j1_r1_a1", "State": "COMPLETED", "MaxRSS": "3M"},
		{"JobID": "77.1", "JobName": "wf1_j2_r1_a1", "State": "OUT_OF_MEMORY", "MaxRSS": "2M"},
	} {
		row := make([]string, len(names))
		for i, name := range names {
			row[i] = known[name]
		}
		lines = append(lines, strings.Join(row, "\x1f"))
	}
	return slurm.Output{Stdout: []byte(strings.Join(lines, "\n") + "\n")}, nil
}

// TestStepsAreExplained runs jobs as steps: what Slurm says about a failed one is in its
// report, and what a successful one has used is sent later.
func TestStepsAreExplained(t *testing.T) {
	t.Parallel()
	srun, notes := fakeSrun(t)
	d := runnertest.New(job("true"), job("exit 1"))
	d.Welcome.ExecutionConfig = &workflow.ExecutionConfig{Mode: "slurm"}
	used := &ledger{}
	o := testOptions(t, d)
	o.Accounts = used
	o.Steps = &steps.Starter{Job: slurm.JobID{Number: 77}, Srun: srun, Slurm: slurm.New(slurm.Options{Executor: stepRecords{}})}
	run(t, o)
	if e := d.Job(1).Attempts[0].Evidence; e.ExitCode == nil || *e.ExitCode != 0 || e.Slurm != nil {
		t.Errorf("the successful one: %+v", e)
	}
	if e := d.Job(2).Attempts[0].Evidence; e.ExitCode != nil || e.Slurm == nil || e.Slurm.StepState != "OUT_OF_MEMORY" {
		t.Errorf("the failed one: %+v", e)
	}
	if !slices.ContainsFunc(used.steps, func(s api.SlurmStats) bool {
		return s.JobID == 1 && s.RunID == 1 && s.AttemptID == 1 && *s.SlurmJobID == "77" && *s.MaxRSSBytes == 3<<20
	}) {
		t.Errorf("used: %+v", used.steps)
	}
	text, err := os.ReadFile(notes)
	if err != nil || !strings.Contains(string(text), "--jobid=77 --ntasks=1 --cpu-bind=none --exact --job-name=wf1_j1_r1_a1 ") {
		t.Errorf("srun got %q, %v", text, err)
	}
	noViolations(t, d)
}

func TestStepsNeedAnAllocation(t *testing.T) {
	t.Parallel()
	d := runnertest.New(job("true"))
	d.Welcome.ExecutionConfig = &workflow.ExecutionConfig{Mode: "slurm"}
	if _, err := tryRun(t, testOptions(t, d)); workflow.CodeOf(err) != workflow.CodeInvalid {
		t.Errorf("error %v", err)
	}
	d.Welcome.ExecutionConfig.Mode = "auto"
	if s := run(t, testOptions(t, d)); !s.Complete {
		t.Errorf("auto: %+v", s)
	}
}
