package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/api"
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
	var submitted submission
	decode(&submitted, "submit", "-o", filepath.Join(c.dir, "out"), file)
	if submitted.WorkflowID != 1 || len(submitted.Asked) != 1 || !submitted.AutoSchedule {
		t.Fatalf("%+v", submitted)
	}
	id := submitted.Asked[0].SlurmJobID
	slurmtest.Eventually(t, 2*time.Minute, "both jobs run", func() bool {
		var queue api.AllocationQueue
		decode(&queue, "sq", "1", "--fresh")
		return len(queue.Items) == 1 && queue.Items[0].SlurmJobID == id && queue.Items[0].SlurmState == "RUNNING" && queue.Items[0].JobsRunning == 2
	})
	var canceled cancelResult
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
