package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/allocate"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/workflows"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/slurm/slurmtest"
)

// TestSubmitAndCancel: one command submits, sq shows what Slurm does, and after
// cancel no Slurm job of the workflow is left.
func TestSubmitAndCancel(t *testing.T) {
	c := newCluster(t)
	file := filepath.Join(c.dir, "lasting.yaml")
	text := `
name: lasting
resource_requirements: [{name: small, num_cpus: 1, memory: 60m, runtime: PT5M}]
jobs: [{name: 'wait{i}', command: sleep 300, parameters: {i: '1:2'}, resource_requirements: small}]
`
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	decode := func(v any, args ...string) {
		t.Helper()
		if err := json.Unmarshal([]byte(c.run(append([]string{"-f", "json"}, args...)...)), v); err != nil {
			t.Fatalf("%v: %v", args, err)
		}
	}
	var submitted allocate.Answer
	decode(&submitted, "submit", "-o", filepath.Join(c.dir, "out"), file)
	if submitted.WorkflowID != 1 || len(submitted.Requested) != 1 || !submitted.AutoSchedule {
		t.Fatalf("%+v", submitted)
	}
	id := submitted.Requested[0].SlurmJobID
	slurmtest.Eventually(t, 2*time.Minute, "both jobs run", func() bool {
		var queue api.AllocationQueue
		decode(&queue, "sq", "1", "--fresh")
		return len(queue.Items) == 1 && queue.Items[0].SlurmJobID == id && queue.Items[0].SlurmState == "RUNNING" && queue.Items[0].JobsRunning == 2
	})
	var canceled workflows.CancelResult
	decode(&canceled, "cancel", "1")
	if canceled.Status != "success" || !slices.Equal(canceled.CanceledSlurmJobs, []string{slurm.JobID{Number: id}.String()}) {
		t.Errorf("%+v", canceled)
	}
	queue, err := slurm.New(slurm.Options{Executor: c.real.User()}).Queue(t.Context(), slurm.QueueQuery{User: slurmtest.TestUser})
	if err != nil {
		t.Fatal(err)
	}
	if job, found := queue.Find(slurm.JobID{Number: id}); found && !job.State.Over() {
		t.Errorf("Slurm says %s", job.State)
	}
}

// TestSubmitRefusesWhatNeverFits: a job for more than a node has, and one for longer than
// the partition allows, are refused; what fits goes on if somebody says so.
func TestSubmitRefusesWhatNeverFits(t *testing.T) {
	c := newCluster(t)
	file := filepath.Join(c.dir, "unfit.yaml")
	text := `
name: unfit
resource_requirements:
  - {name: small, num_cpus: 1, memory: 60m, runtime: PT5M}
  - {name: wide, num_cpus: 640, memory: 60m, runtime: PT5M}
  - {name: long, num_cpus: 1, memory: 60m, runtime: P400D}
jobs:
  - {name: small, command: 'true', resource_requirements: small}
  - {name: wide, command: 'true', resource_requirements: wide}
  - {name: long, command: 'true', resource_requirements: long}
`
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(c.dir, "out")
	said, err := c.tryRun("submit", "-o", out, file)
	if err != nil || said.ExitCode != cli.ExitInvalidSpec {
		t.Errorf("exit status %d, %v", said.ExitCode, err)
	}
	refusal := string(said.Stderr)
	for _, want := range []string{"wide: needs 640 CPUs, the largest node of partition ", "long: needs 400d, the longest allocation of partition "} {
		if !strings.Contains(refusal, want) {
			t.Errorf("it does not say %q: %s", want, refusal)
		}
	}
	c.run("submit", "-o", out, "--skip-checks", "1")
	slurmtest.Eventually(t, 2*time.Minute, "what fits is done", func() bool {
		return strings.Contains(c.run("-f", "json", "status", "1"), `"completed": 1`)
	})
	c.run("-f", "json", "cancel", "1")
}
