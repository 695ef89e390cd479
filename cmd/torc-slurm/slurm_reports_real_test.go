package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/slurmcmd"
	"github.com/torc-slurm/torc-slurm/slurm/slurmtest"
)

// decode runs a command with JSON output.
func (c *cluster) decode(v any, args ...string) {
	c.t.Helper()
	if err := json.Unmarshal([]byte(c.run(append([]string{"-f", "json"}, args...)...)), v); err != nil {
		c.t.Fatalf("%v: %v", args, err)
	}
}

// TestSlurmReports: what Slurm accounted for steps, and what it wrote, of jobs
// that end in several ways.
func TestSlurmReports(t *testing.T) {
	c := newCluster(t)
	spec := short + `
execution_config: {mode: slurm}
jobs:
  - {name: busy, command: 'python3 -c "import time; all(iter(lambda: time.process_time() < 3, False))"', resource_requirements: small}
  - {name: failure, command: exit 3, resource_requirements: small, depends_on: [busy]}
`
	ends := map[string]string{"busy": "COMPLETED 0:0", "failure": "FAILED 3:0"}
	issues := []string{"failure: error of srun"}
	if c.real.CanLimitMemory() {
		spec += `  - {name: hungry, command: '` + hungry + `', resource_requirements: small, depends_on: [busy]}`
		ends["hungry"] = "OUT_OF_MEMORY 0:125"
		issues = append(issues, "hungry: out of memory")
	}
	id := c.start("reports", spec, 1)
	slurmtest.Eventually(t, 4*time.Minute, "the allocation is over", func() bool {
		var queue api.AllocationQueue
		c.decode(&queue, "sq", id, "--ended", "--fresh")
		return len(queue.Items) == 1 && queue.Items[0].State == "ended"
	})
	t.Run("stats", func(t *testing.T) { c.checkStats(t, id, len(ends)) })
	t.Run("sacct", func(t *testing.T) { c.checkSacct(t, id, ends) })
	t.Run("usage", func(t *testing.T) {
		var usage api.SlurmUsage
		c.decode(&usage, "slurm", "usage", id)
		if usage.TotalSlurmJobs != 1 || usage.TotalNodes != 1 || usage.TotalNodeTimeSeconds < 2 || usage.TotalCPUTimeSeconds < usage.TotalNodeTimeSeconds || len(usage.Errors) > 0 {
			t.Errorf("%+v", usage)
		}
	})
	t.Run("parse-logs", func(t *testing.T) {
		var report slurmcmd.SlurmLogReport
		c.decode(&report, "slurm", "parse-logs", filepath.Join(c.dir, "reports"), "--errors-only")
		var got []string
		for _, x := range report.Issues {
			if len(x.Affected) != 1 || x.SlurmJobID == "" {
				t.Errorf("whose line is %+v?", x)
				continue
			}
			got = append(got, x.Affected[0].JobName+": "+x.Description)
		}
		slices.Sort(got)
		if diff := cmp.Diff(issues, slices.Compact(got)); diff != "" {
			t.Errorf("issues (-want +got):\n%s", diff)
		}
	})
}

// checkStats looks for a row of each job; only one of them used its CPU.
func (c *cluster) checkStats(t *testing.T, id string, jobs int) {
	var stats struct{ Items []api.SlurmStats }
	c.decode(&stats, "slurm", "stats", id)
	if len(stats.Items) != jobs {
		t.Fatalf("%d rows for %d jobs", len(stats.Items), jobs)
	}
	var used []int64
	for _, s := range stats.Items {
		if s.RunID != 1 || s.AttemptID != 1 || *s.SlurmJobID == "" || !strings.HasPrefix(*s.NodeList, "n") {
			t.Errorf("%+v", s)
		}
		if s.AveCPUSeconds != nil && *s.AveCPUSeconds >= 1 {
			used = append(used, s.JobID)
		}
	}
	if !slices.Equal(used, []int64{1}) {
		t.Errorf("jobs %v used their CPU", used)
	}
	if table := c.run("slurm", "stats", id, "--job-id", "1"); !strings.Contains(table, "Total: 1 record") {
		t.Errorf("of one job:\n%s", table)
	}
}

// checkSacct looks for the ends of steps among the records of the Slurm job.
func (c *cluster) checkSacct(t *testing.T, id string, ends map[string]string) {
	var report slurmcmd.SacctReport
	c.decode(&report, "slurm", "sacct", id)
	var got, want []string
	for _, r := range report.Summary[1:] { // after the job itself
		if r.JobStep != "batch" {
			got = append(got, fmt.Sprintf("%s %s", r.State, r.ExitCode))
		}
	}
	for _, end := range ends {
		want = append(want, end)
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" || report.TotalSlurmJobs != 1 || len(report.Errors) > 0 {
		t.Errorf("%+v, steps (-want +got):\n%s", report, diff)
	}
}
