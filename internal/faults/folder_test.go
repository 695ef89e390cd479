package faults

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm/slurmtest"
)

// TestOddFolder: names that a shell, Slurm or a batch script could split.
func TestOddFolder(t *testing.T) {
	t.Parallel()
	w := newWorld(t, slurmtest.UseReal(t))
	const folder = `für "Läufe" & 'mehr' $HOME; 100%j #1`
	w.write(filepath.Join(folder, "spec.yaml"), "name: "+w.name()+"\n"+shape("debug", "", 10*time.Minute)+`
compute_node_wait_for_new_jobs_seconds: 0
jobs: [{name: "Größe 'x' $i", command: 'echo "ü $PWD" >"1 für ''alle''.txt"; ../job.sh 1'}]
actions: [{trigger_type: auto_schedule_on_ready_jobs, scheduler: s, max_ready_age: PT1S, max_submit_per_minute: 30}]
`, 0o644)
	cmd := w.command("-f", "json", "submit", "--skip-checks", "-o", "out put", "spec.yaml")
	cmd.Dir = w.path(folder)
	out, err := cmd.Output()
	var made struct {
		ID int64 `json:"workflow_id"`
	}
	if err == nil {
		err = json.Unmarshal(out, &made)
	}
	if err != nil {
		t.Fatalf("submit said %q: %v", out, err)
	}
	w.settle(made.ID, nil)
	written, err := os.ReadFile(w.path(folder, "1 für 'alle'.txt"))
	if want := "ü " + w.path(folder) + "\n"; err != nil || string(written) != want {
		t.Errorf("the job wrote %q, %v, want %q", written, err, want)
	}
	if logs, _ := filepath.Glob(w.path("*", "out put", "job_runner_slurm_*.log")); len(logs) != 1 {
		t.Errorf("the logs of the runner are %q", logs)
	}
}
