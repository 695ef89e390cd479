package workflows

import (
	"slices"
	"strings"
	"testing"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli/clitest"
)

const (
	askQueue   = "GET /allocations"
	askRunning = "GET /workflows/12/running_jobs"
	askNodes   = "GET /compute_nodes"

	// Allocation 1 has begun and ran job 41, allocation 2 waits.
	liveQueue = `{"items":[{"id":1,"workflow_id":12,"state":"active","slurm_job_id":812,"start_ms":5},{"id":2,"workflow_id":12,"state":"pending","slurm_job_id":813}]}`
	running41 = `{"items":[{"job_id":41,"job_name":"sim","scheduler_job_id":"812"},{"job_id":42,"job_name":"here"}]}`
)

// What is asked before Slurm is, and in all.
var (
	askedOnce  = []string{"GET /allocations?workflow_id=12", askRunning, "GET /compute_nodes?is_active=true&workflow_id=12"}
	askedTwice = append(slices.Clone(askedOnce), "GET /allocations?ended=true&max_age_seconds=0&workflow_id=12", askRunning, "GET /compute_nodes?is_active=true&workflow_id=12")
)

// TestSyncStatus: what the daemon finds is told by the difference to what it had recorded.
func TestSyncStatus(t *testing.T) {
	after := `{"items":[{"id":1,"workflow_id":12,"state":"ended","slurm_job_id":812,"cause":"node_fail","cause_text":"n1 is down"},
		{"id":2,"workflow_id":12,"state":"ended","slurm_job_id":813},{"id":3,"workflow_id":12,"state":"active","slurm_job_id":814},{"id":4,"workflow_id":12,"state":"ended","slurm_job_id":700}]}`
	lost := clitest.Routes{
		askQueue:   {Body: liveQueue, Then: []clitest.Reply{{Body: after}}},
		askRunning: {Body: running41, Then: []clitest.Reply{{Body: `{"items":[{"job_id":42,"job_name":"here"}]}`}}},
		askNodes:   {Body: `{"items":[{"id":8,"workflow_id":12,"hostname":"n1"},{"id":9,"workflow_id":12,"hostname":"n2"}]}`, Then: []clitest.Reply{{Body: `{"items":[{"id":9,"workflow_id":12,"hostname":"n2"}]}`}}},
	}
	same := clitest.Routes{askQueue: {Body: liveQueue}, askRunning: {Body: running41}, askNodes: {Body: `{"items":[]}`}}
	clitest.Check(t, New,
		clitest.Case{Args: "workflows sync-status 12", Routes: lost, Want: clitest.Result{
			Stdout: `Job 41 (sim) lost Slurm job 812: node_fail: n1 is down
1 allocation that never began was closed
1 runner is gone
Allocations that are there: 1
`,
			Requests: askedTwice,
		}},
		clitest.Case{Args: "workflows sync-status 12 -f json", Routes: lost, Want: clitest.Result{
			Stdout: `{
  "workflow_id": 12,
  "dry_run": false,
  "slurm_jobs_failed": 1,
  "pending_allocations_cleaned": 1,
  "running_jobs_failed": 0,
  "compute_nodes_deactivated": 1,
  "failed_job_details": [
    {
      "job_id": 41,
      "job_name": "sim",
      "reason": "node_fail: n1 is down",
      "slurm_job_id": "812"
    }
  ],
  "live_allocations": 1
}
`,
			Requests: askedTwice,
		}},
		clitest.Case{Args: "workflows sync-status 12", Routes: same, Want: clitest.Result{
			Stdout: `Everything is as it was recorded.
Allocations that are there: 2
`,
			Requests: askedTwice,
		}},
		clitest.Case{Args: "workflows sync-status 12", Routes: same.With(clitest.Routes{askQueue: {Body: `{"items":[],"stale":"squeue does not answer"}`}}), Want: clitest.Result{
			Stdout: `Slurm was not asked: squeue does not answer
Everything is as it was recorded.
Allocations that are there: 0
`,
			Requests: askedTwice,
		}},
	)
}

// TestSyncStatusDryRun: squeue is asked here, and nothing is changed.
func TestSyncStatusDryRun(t *testing.T) {
	routes := clitest.Routes{askQueue: {Body: liveQueue}, askRunning: {Body: running41}, askNodes: {Body: `{"items":[]}`}}
	none := clitest.Routes{askQueue: {Body: `{"items":[]}`}, askRunning: {Body: `{"items":[]}`}, askNodes: {Body: `{"items":[]}`}}
	squeue := func(script string) (map[string]string, []string) {
		return map[string]string{"squeue": "#!/bin/sh\n" + script + "\n"}, []string{"TORC_FAKE_SQUEUE=$DIR/squeue"}
	}
	empty, environ := squeue(`exec cat "${0%/*}/header"`)
	empty["header"] = strings.Repeat("X\x1f", 23) + "X\n" // 24 columns, and no job
	broken, _ := squeue("echo 'slurm_load_jobs error: Unable to contact slurm controller' >&2; exit 1")
	clitest.Check(t, New,
		clitest.Case{Args: "workflows sync-status 12 --dry-run", Files: empty, Environ: environ, Routes: routes, Want: clitest.Result{
			Stdout: `Job 41 (sim) lost Slurm job 812: gone: squeue does not know it
1 allocation that never began would be closed
Allocations that are there: 0
`,
			Requests: []string{
				"GET /allocations?workflow_id=12",
				"GET /workflows/12/running_jobs",
				"GET /compute_nodes?is_active=true&workflow_id=12",
			},
		}},
		clitest.Case{Args: "workflows sync-status 12 --dry-run", Files: broken, Environ: environ, Routes: none, Want: clitest.Result{
			Stdout: `Everything is as it was recorded.
Allocations that are there: 0
`,
			Requests: askedOnce,
		}},
	)
	if got := clitest.Run(t, New, clitest.Case{Args: "workflows sync-status 12 --dry-run", Files: broken, Environ: environ, Routes: routes}); got.Status != 4 || got.Stdout != "" {
		t.Errorf("when squeue does not answer: %+v", got)
	}
}
