package jobs

import (
	"testing"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli/clitest"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func TestRetry(t *testing.T) {
	const retry42, retry43, status = "POST /jobs/42/retry", "POST /jobs/43/retry", "GET /workflows/12/status"
	again := func(id string) clitest.Reply {
		return clitest.Reply{Body: `{"job":{"id":` + id + `,"workflow_id":12,"name":"sim","command":"./sim","status":"ready","attempt_id":2}}`}
	}
	routes := clitest.Routes{retry42: again("42"), retry43: again("43"), status: {Body: `{"workflow_id":12,"active_compute_nodes":0}`}}
	clitest.Check(t, New,
		clitest.Case{Args: "jobs retry", Want: clitest.Result{
			Status: cli.ExitUsage,
			Stderr: "error: requires at least 1 arg(s), only received 0; usage: torc-slurm jobs retry JOB... [flags]\n",
		}},
		// Somebody has to run them, unless a runner is at work.
		clitest.Case{Args: "jobs retry 42", Routes: routes, Want: clitest.Result{
			Stdout:   "Job 42 (sim) is ready for attempt 2\n",
			Stderr:   "Next: torc-slurm run 12\n",
			Requests: []string{"POST /jobs/42/retry {}", "GET /workflows/12/status"},
		}},
		clitest.Case{Args: "jobs retry 42,43 42", Routes: routes.With(clitest.Routes{status: {Body: `{"workflow_id":12,"active_compute_nodes":1}`}}), Want: clitest.Result{
			Stdout:   "2 jobs are ready for another attempt\n",
			Requests: []string{"POST /jobs/42/retry {}", "POST /jobs/43/retry {}", "GET /workflows/12/status"},
		}},
		clitest.Case{Args: "jobs retry 42 -f json", Routes: routes, Want: clitest.Result{
			Stdout: `{
  "items": [
    {
      "id": 42,
      "workflow_id": 12,
      "name": "sim",
      "command": "./sim",
      "status": "ready",
      "attempt_id": 2
    }
  ]
}
`,
			Requests: []string{"POST /jobs/42/retry {}"},
		}},
		// What is refused in between leaves the ones before ready.
		clitest.Case{
			Args: "-s jobs retry 42 43", Want: clitest.Result{
				Status: cli.ExitRefused,
				Stderr: "error: stopped after making 1 job ready: job 43 is running\n" +
					"hint: `torc-slurm -s cancel 12` ends it\n",
				Requests: []string{"POST /jobs/42/retry {}", "POST /jobs/43/retry {}"},
			},
			Routes: routes.With(clitest.Routes{retry43: {Status: 409, Body: `{"error":{"message":"job 43 is running","hint":"` + "`torc-slurm cancel 12`" + ` ends it"}}`}}),
		},
	)
}

// selected is what jobs reset-status would reset of workflow 12.
func selected(obstacle *api.Obstacle) api.JobReset {
	return api.JobReset{
		WorkflowID: 12, RunID: 3, Obstacle: obstacle,
		Jobs: []api.ResetJob{
			{JobID: 42, Name: "sim", Status: workflow.Failed}, {JobID: 43, Name: "prep", Status: workflow.Completed}, {JobID: 44, Name: "late", Status: workflow.Uninitialized},
		},
		Downstream: []api.ResetJob{{JobID: 45, Name: "merge", Status: workflow.Canceled}},
	}
}

const resetJobs = "POST /workflows/12/reset_jobs"

func TestResetStatusRejects(t *testing.T) {
	job := func(id, of string) clitest.Reply {
		return clitest.Reply{Body: `{"id":` + id + `,"workflow_id":` + of + `,"name":"a","command":"x"}`}
	}
	routes := clitest.Routes{"GET /jobs/42": job("42", "12"), "GET /jobs/43": job("43", "13"), resetJobs: {Body: selected(nil)}}
	clitest.Check(t, New,
		clitest.Case{Args: "jobs reset-status", Want: clitest.Result{Status: cli.ExitFailed, Stderr: "error: no job was selected: give ids, --status or --return-code\n"}},
		clitest.Case{Args: "jobs reset-status 42 --status failed", Want: clitest.Result{Status: cli.ExitUsage, Stderr: "error: give either ids of jobs, or --status or --return-code\n"}},
		clitest.Case{Args: "jobs reset-status --status failed --return-code 0", Want: clitest.Result{
			Status: cli.ExitUsage,
			Stderr: "error: if any flags in the group [status return-code] are set none of the others can be; [return-code status] were all set\n",
		}},
		clitest.Case{Args: "jobs reset-status --status broken", Want: clitest.Result{
			Status: cli.ExitUsage,
			Stderr: "error: unknown job status \"broken\": the statuses are uninitialized, blocked, ready, pending, running, completed, failed, canceled, terminated, disabled, pending_failed\n",
		}},
		clitest.Case{Args: "jobs reset-status 42,x", Want: clitest.Result{Status: cli.ExitUsage, Stderr: "error: \"x\" is not the id of a job: ids are numbers from 1\n"}},
		clitest.Case{Args: "jobs reset-status 42 43", Routes: routes, Want: clitest.Result{
			Status:   cli.ExitUsage,
			Stderr:   "error: the jobs belong to several workflows: workflow 12 has 42, workflow 13 has 43\n",
			Requests: []string{"GET /jobs/42", "GET /jobs/43"},
		}},
		clitest.Case{Args: "jobs reset-status 42 --workflow-id 13", Routes: routes, Want: clitest.Result{
			Status:   cli.ExitUsage,
			Stderr:   "error: the jobs belong to workflow 12, not to workflow 13\n",
			Requests: []string{"GET /jobs/42"},
		}},
		clitest.Case{Args: "jobs reset-status --workflow-id 12 --return-code 7", Routes: clitest.Routes{resetJobs: {Body: api.JobReset{WorkflowID: 12}}}, Want: clitest.Result{
			Status:   cli.ExitFailed,
			Stderr:   "error: no job of workflow 12 matches\n",
			Requests: []string{`POST /workflows/12/reset_jobs {"dry_run":true,"return_code":7}`},
		}},
		clitest.Case{
			Args: "jobs reset-status 42 --no-prompts", Want: clitest.Result{
				Status: cli.ExitRefused,
				Stderr: `error: a runner is at work on workflow 12
hint: wait for it, or give --force
`,
				Requests: []string{"GET /jobs/42", `POST /workflows/12/reset_jobs {"dry_run":true,"job_ids":[42]}`},
			},
			Routes: routes.With(clitest.Routes{resetJobs: {Body: selected(&api.Obstacle{Message: "a runner is at work on workflow 12", Hint: "wait for it, or give --force"})}}),
		},
	)
}

// What is shown of the jobs, and asked for them.
const (
	resetTables = `Jobs to reset:
╭────────┬──────┬────────────────╮
│ Job ID │ Name │ Current Status │
├────────┼──────┼────────────────┤
│ 42     │ sim  │ failed         │
│ 43     │ prep │ completed      │
│ 44     │ late │ uninitialized  │
╰────────┴──────┴────────────────╯
Downstream jobs, reset by the reinitialization:
╭────────┬───────┬────────────────╮
│ Job ID │ Name  │ Current Status │
├────────┼───────┼────────────────┤
│ 45     │ merge │ canceled       │
╰────────┴───────┴────────────────╯
`
	resetWarnings = `warning: 1 job has completed and would run again
warning: 1 job is uninitialized already
`
	resetExpected = `POST /workflows/12/reset_jobs {"job_ids":[42,43,44],"run_id":3,"expected":[{"job_id":42,"status":"failed"},{"job_id":43,"status":"completed"},{"job_id":44,"status":"uninitialized"}]}`
)

func TestResetStatus(t *testing.T) {
	reset := selected(nil)
	reset.Reset = []int64{42, 43, 44}
	routes := clitest.Routes{resetJobs: {Body: selected(nil), Then: []clitest.Reply{{Body: reset}}}}
	some := reset
	some.Reset, some.Failures = []int64{42}, []api.ResetFailure{{JobID: 43, Error: "it is running"}}
	unbegun := reset
	unbegun.ReinitializeError = "a file is missing"
	none := reset
	none.Reset, none.Failures = nil, []api.ResetFailure{{JobID: 42, Error: "it is running"}}
	then := func(r api.JobReset) clitest.Routes {
		return clitest.Routes{resetJobs: {Body: selected(nil), Then: []clitest.Reply{{Body: r}}}}
	}
	clitest.Check(t, New,
		clitest.Case{Args: "jobs reset-status --workflow-id 12 --status failed,completed,failed --dry-run", Routes: routes, Terminal: 40, Want: clitest.Result{
			Stdout:   resetTables,
			Stderr:   resetWarnings,
			Requests: []string{`POST /workflows/12/reset_jobs {"dry_run":true,"statuses":["failed","completed"]}`},
		}},
		clitest.Case{Args: "jobs reset-status --workflow-id 12 --return-code 137 --dry-run --reinit -f json", Routes: routes, Want: clitest.Result{
			Stdout: `{
  "dry_run": true,
  "reinit_requested": true,
  "workflow_id": 12,
  "jobs": [
    {
      "job_id": 42,
      "name": "sim",
      "status": "failed"
    },
    {
      "job_id": 43,
      "name": "prep",
      "status": "completed"
    },
    {
      "job_id": 44,
      "name": "late",
      "status": "uninitialized"
    }
  ],
  "downstream_jobs": [
    {
      "job_id": 45,
      "name": "merge",
      "status": "canceled"
    }
  ]
}
`,
			Requests: []string{`POST /workflows/12/reset_jobs {"dry_run":true,"return_code":137}`},
		}},
		clitest.Case{Args: "jobs reset-status --workflow-id 12 --return-code 0", Terminal: 40, Stdin: "y\n", Routes: routes, Want: clitest.Result{
			Stdout: "Reset 3 jobs of workflow 12\n",
			Stderr: resetTables + resetWarnings + "Reset 3 jobs? [y/N] Next: torc-slurm workflows reinit 12\n",
			Requests: []string{
				`POST /workflows/12/reset_jobs {"dry_run":true,"return_code":0}`,
				resetExpected,
			},
		}},
		clitest.Case{Args: "jobs reset-status --workflow-id 12 --return-code 1", Terminal: 40, Stdin: "n\n", Routes: routes, Want: clitest.Result{
			Stderr:   resetTables + resetWarnings + "Reset 3 jobs? [y/N] Nothing was done.\n",
			Requests: []string{`POST /workflows/12/reset_jobs {"dry_run":true,"return_code":1}`},
		}},
		clitest.Case{Args: "jobs reset-status --workflow-id 12 --return-code 2 --force -f json", Routes: routes, Want: clitest.Result{
			Stdout: `{
  "status": "success",
  "workflow_id": 12,
  "reset_count": 3,
  "requested_job_ids": [
    42,
    43,
    44
  ],
  "reset_job_ids": [
    42,
    43,
    44
  ],
  "downstream_jobs": [
    {
      "job_id": 45,
      "name": "merge",
      "status": "canceled"
    }
  ],
  "failures": null,
  "next_steps": [
    "torc-slurm workflows reinit 12",
    "torc-slurm run 12"
  ],
  "reinit": {
    "requested": false,
    "applied": false,
    "error": null
  }
}
`,
			Requests: []string{
				`POST /workflows/12/reset_jobs {"dry_run":true,"return_code":2,"force":true}`,
				`POST /workflows/12/reset_jobs {"job_ids":[42,43,44],"force":true,"run_id":3}`,
			},
		}},
		clitest.Case{Args: "jobs reset-status --workflow-id 12 --return-code 3 --yes", Routes: then(some), Want: clitest.Result{
			Status: cli.ExitFailed,
			Stdout: "Reset 1 job of workflow 12\n",
			Stderr: resetTables + resetWarnings + "job 43 was not reset: it is running\n",
			Requests: []string{
				`POST /workflows/12/reset_jobs {"dry_run":true,"return_code":3}`,
				resetExpected,
			},
		}},
		clitest.Case{Args: "jobs reset-status --workflow-id 12 --return-code 4 --yes --reinit", Routes: then(unbegun), Want: clitest.Result{
			Status: cli.ExitFailed,
			Stdout: "Reset 3 jobs of workflow 12\n",
			Stderr: resetTables + resetWarnings + "the workflow was not reinitialized: a file is missing\n",
			Requests: []string{
				`POST /workflows/12/reset_jobs {"dry_run":true,"return_code":4}`,
				`POST /workflows/12/reset_jobs {"job_ids":[42,43,44],"run_id":3,"expected":[{"job_id":42,"status":"failed"},{"job_id":43,"status":"completed"},{"job_id":44,"status":"uninitialized"}],"reinitialize":true}`,
			},
		}},
		clitest.Case{Args: "jobs reset-status --workflow-id 12 --return-code 5 -f json", Routes: then(none), Want: clitest.Result{
			Status: cli.ExitFailed,
			Stdout: `{
  "status": "error",
  "workflow_id": 12,
  "reset_count": 0,
  "requested_job_ids": [
    42,
    43,
    44
  ],
  "reset_job_ids": null,
  "downstream_jobs": [
    {
      "job_id": 45,
      "name": "merge",
      "status": "canceled"
    }
  ],
  "failures": [
    {
      "job_id": 42,
      "error": "it is running"
    }
  ],
  "next_steps": [
    "torc-slurm workflows reinit 12",
    "torc-slurm run 12"
  ],
  "reinit": {
    "requested": false,
    "applied": false,
    "error": null
  }
}
`,
			Stderr: "job 42 was not reset: it is running\n",
			Requests: []string{
				`POST /workflows/12/reset_jobs {"dry_run":true,"return_code":5}`,
				resetExpected,
			},
		}},
	)
}
