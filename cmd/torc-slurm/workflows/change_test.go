package workflows

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli/clitest"
)

const (
	sweep     = `{"id":12,"name":"sweep","user":"ann","description":"of\nparameters","run_id":2,"timestamp":"2026-03-13T08:00:00Z"}`
	getSweep  = "GET /workflows/12"
	putSweep  = "PUT /workflows/12"
	getStatus = "GET /workflows/12/status"
	askLive   = "GET /workflows/12/allocations?live=true"
)

// wrong is a call that is rejected before the server is asked.
func wrong(args, message string) clitest.Case {
	return clitest.Case{Args: args, Want: clitest.Result{Status: cli.ExitUsage, Stderr: "error: " + message + "\n"}}
}

// refused answers with an error.
func refused(status int, message string) clitest.Reply {
	return clitest.Reply{Status: status, Body: api.ErrorResponse{Error: api.ErrorDetail{Message: message}}}
}

func TestListWorkflows(t *testing.T) {
	routes := clitest.Routes{"GET /workflows": {Body: `{"items":[` + sweep + `]}`}}
	clitest.Check(t, New,
		wrong("workflows list --archived-only --include-archived", "if any flags in the group [archived-only include-archived] are set none of the others can be; [archived-only include-archived] were all set"),
		wrong("workflows list --sort-by age", "--sort-by age: the fields are "+strings.Join(append([]string{"id"}, workflowSortable...), ", ")),
		clitest.Case{Args: "workflows list", Terminal: 60, Routes: routes, Want: clitest.Result{
			Stdout: `╭────┬───────┬─────┬──────┬──────────┬──────────┬──────────┬─────────┬──────────┬──────────╮
│ ID │ Name  │ Run │ Held │ Canceled │ Archived │ Descrip… │ Project │ Metadata │ Timesta… │
├────┼───────┼─────┼──────┼──────────┼──────────┼──────────┼─────────┼──────────┼──────────┤
│ 12 │ sweep │ 2   │      │ no       │ no       │ of para… │         │          │ 2026-03… │
╰────┴───────┴─────┴──────┴──────────┴──────────┴──────────┴─────────┴──────────┴──────────╯
Total: 1 workflows
`,
			Requests: []string{"GET /workflows?is_archived=false&user=ann"},
		}},
		clitest.Case{Args: "workflows list -a -g lab --include-archived -l 3 -f csv", Routes: routes, Want: clitest.Result{
			Stdout: `ID,User,Name,Run,Held,Canceled,Archived,Description,Project,Metadata,Timestamp
12,ann,sweep,2,,no,no,"of
parameters",,,2026-03-13T08:00:00Z
`,
			Requests: []string{"GET /workflows?access_group=lab&limit=3"},
		}},
		clitest.Case{Args: "workflows list --archived-only -f json", Environ: []string{"TORC_USERNAME=bob"}, Routes: clitest.Routes{"GET /workflows": {Body: `{"items":[]}`}}, Want: clitest.Result{
			Stdout: `{
  "items": []
}
`,
			Requests: []string{"GET /workflows?is_archived=true&user=bob"},
		}},
	)
}

func TestShowWorkflow(t *testing.T) {
	const complete = "GET /workflows/12/is_complete"
	clitest.Check(t, New,
		clitest.Case{Args: "workflows get 12", Routes: clitest.Routes{getSweep: {Body: sweep}}, Want: clitest.Result{
			Stdout: `ID:                 12
Name:               sweep
User:               ann
Description:        of
                    parameters
Run:                2
Canceled:           no
Archived:           no
Created:            2026-03-13T08:00:00Z
Holds failed jobs:  no
Enforces runtimes:  no
`,
			Requests: []string{getSweep},
		}},
		clitest.Case{Args: "workflows get", Routes: clitest.Routes{"GET /workflows": {Body: `{"items":[]}`}}, Want: clitest.Result{
			Status: 3,
			Stderr: "error: user ann has no workflow here\n" +
				"hint: `torc-slurm create SPEC` creates one; `torc-slurm workflows list --all-users` lists those of all users\n",
			Requests: []string{"GET /workflows?is_archived=false&user=ann"},
		}},
		clitest.Case{Args: "workflows get -- -1", Want: clitest.Result{Status: cli.ExitUsage, Stderr: "error: \"-1\" is not the id of a workflow: ids are numbers from 1\n"}},
		clitest.Case{Args: "workflows is-complete 12", Routes: clitest.Routes{complete: {Body: `{"is_complete":true}`}}, Want: clitest.Result{Stdout: "Workflow 12 is complete\n", Requests: []string{"GET /workflows/12/is_complete"}}},
		clitest.Case{Args: "workflows is-complete 12", Routes: clitest.Routes{complete: {Body: `{"is_complete":true,"is_canceled":true}`}}, Want: clitest.Result{Stdout: "Workflow 12 is canceled\n", Requests: []string{"GET /workflows/12/is_complete"}}},
		clitest.Case{Args: "workflows is-complete 12", Routes: clitest.Routes{complete: {Body: `{}`}}, Want: clitest.Result{Stdout: "Workflow 12 is not complete\n", Requests: []string{"GET /workflows/12/is_complete"}}},
	)
}

func TestNew(t *testing.T) {
	clitest.Check(t, New,
		wrong("workflows new", `required flag(s) "name" not set`),
		clitest.Case{Args: "workflows new -n tests -d ''", Routes: clitest.Routes{"POST /workflows": {Body: sweep}}, Want: clitest.Result{
			Stdout:   "Created workflow 12\n",
			Requests: []string{`POST /workflows {"name":"tests","user":"ann","description":"","submission_directory":"$DIR"}`},
		}},
	)
}

func TestUpdate(t *testing.T) {
	routes := clitest.Routes{getSweep: {Body: sweep}, putSweep: {Body: sweep}}
	clitest.Check(t, New,
		wrong("workflows update 12", "at least one of the flags in the group [name description owner-user project metadata max-failures auto-schedule unset] is required"),
		wrong("workflows update 12 --metadata 3", "--metadata is not a JSON object: 3"),
		wrong("workflows update 12 --max-failures 3 --unset max-failures", "--unset max_failures and --max-failures 3 contradict each other"),
		clitest.Case{Args: "workflows update 12 --unset colour", Want: clitest.Result{
			Status: cli.ExitUsage,
			Stderr: "error: --unset: unknown policy key \"colour\"; the keys are retry_policies, global_max_retries, max_retries_total, cancel_siblings_on, failure_categories, max_failures, circuit_breakers, end, deadline, classify_timeout, classifier, on_failure, notify, auto_schedule, end.success_if\n",
		}},
		clitest.Case{Args: "workflows update 12 -n other --owner-user bob --project climate", Routes: routes, Want: clitest.Result{
			Stdout:   "Updated workflow 12\n",
			Requests: []string{getSweep, `PUT /workflows/12 {"name":"other","user":"bob","project":"climate"}`},
		}},
		clitest.Case{Args: `workflows update 12 -d '' --metadata '{"paper": 1}' --max-failures 0 --auto-schedule=false`, Routes: routes, Want: clitest.Result{
			Stdout: "Updated workflow 12\n",
			Requests: []string{
				getSweep,
				`PUT /workflows/12 {"name":"sweep","user":"ann","description":"","metadata":{"paper":1},"policy":{"max_failures":0,"auto_schedule":false}}`,
			},
		}},
		clitest.Case{Args: "workflows update 12 --unset success-if,deadline", Routes: routes, Want: clitest.Result{
			Stdout: "Updated workflow 12\n",
			Requests: []string{
				getSweep,
				`PUT /workflows/12 {"name":"sweep","policy":{"deadline":null,"end":{"success_if":null}},"user":"ann"}`,
			},
		}},
	)
}

func TestArchive(t *testing.T) {
	const archive12, archive13 = "POST /workflows/12/archive", "POST /workflows/13/archive"
	routes := clitest.Routes{archive12: {Body: sweep}, archive13: refused(409, "workflow 13 is running"), "GET /workflows": {Body: `{"items":[` + sweep + `]}`}}
	clitest.Check(t, New,
		wrong("workflows archive 12", `give true to archive, false to restore; not "12"`),
		wrong("workflows archive true x", `"x" is not the id of a workflow: ids are numbers from 1`),
		clitest.Case{Args: "workflows archive true 12,12", Routes: routes, Want: clitest.Result{Stdout: "Archived workflow 12\n", Requests: []string{`POST /workflows/12/archive {"is_archived":true}`}}},
		// Without an id it is the user's only workflow, but none that is in the archive.
		clitest.Case{Args: "workflows archive true", Routes: routes, Want: clitest.Result{
			Stdout:   "Archived workflow 12\n",
			Requests: []string{"GET /workflows?is_archived=false&user=ann", `POST /workflows/12/archive {"is_archived":true}`},
		}},
		wrong("workflows archive false", "say which workflows to take out of the archive; `torc-slurm workflows list --archived-only` lists them"),
		clitest.Case{Args: "workflows archive false 12", Routes: routes, Want: clitest.Result{
			Stdout:   "Restored: workflow 12\n",
			Requests: []string{`POST /workflows/12/archive {"is_archived":false}`},
		}},
		clitest.Case{Args: "workflows archive true 12 13", Routes: routes, Want: clitest.Result{
			Status:   cli.ExitFailed,
			Stdout:   "Archived workflow 12\n",
			Stderr:   "workflow 13: workflow 13 is running\n",
			Requests: []string{`POST /workflows/12/archive {"is_archived":true}`, `POST /workflows/13/archive {"is_archived":true}`},
		}},
		clitest.Case{Args: "workflows archive true 12 13 -f json", Routes: routes, Want: clitest.Result{
			Status: cli.ExitFailed,
			Stdout: `{
  "status": "partial_success",
  "updated_workflows": [
    12
  ],
  "is_archived": true,
  "errors": [
    {
      "workflow_id": 13,
      "error": "workflow 13 is running"
    }
  ]
}
`,
			Stderr:   "workflow 13: workflow 13 is running\n",
			Requests: []string{`POST /workflows/12/archive {"is_archived":true}`, `POST /workflows/13/archive {"is_archived":true}`},
		}},
		clitest.Case{Args: "workflows archive true 13", Routes: routes, Want: clitest.Result{
			Status:   cli.ExitRefused,
			Stderr:   "error: workflow 13 is running\n",
			Requests: []string{`POST /workflows/13/archive {"is_archived":true}`},
		}},
	)
}

const (
	aboutSweep = `ID:           12
Name:         sweep
User:         ann
Description:  of
              parameters

Cancel this workflow? [y/N] `
)

func TestCancel(t *testing.T) {
	const (
		cancel = "PUT /workflows/12/cancel"
		live   = "GET /workflows/12/allocations"
		queue  = "GET /allocations"
		both   = `{"items":[{"id":1,"intent_id":"a","workflow_id":12,"slurm_job_id":812},{"id":2,"intent_id":"b","workflow_id":12,"slurm_job_id":813}]}`
	)
	routes := clitest.Routes{getSweep: {Body: sweep}, live: {Body: both}, cancel: {Body: sweep}, queue: {Body: `{"items":[]}`}}
	clitest.Check(t, NewCancel,
		clitest.Case{Args: "cancel 12 --no-prompts", Routes: routes.With(clitest.Routes{live: {Body: `{"items":[]}`}}), Want: clitest.Result{
			Stdout:   "Canceled workflow 12\n",
			Requests: []string{getSweep, askLive, "PUT /workflows/12/cancel"},
		}},
		clitest.Case{Args: "cancel 12", Stdin: "y\n", Terminal: 80, Routes: routes, Want: clitest.Result{
			Stdout: "Canceled workflow 12 and 2 Slurm jobs: 812, 813\n",
			Stderr: aboutSweep + "Waiting for the end of 2 allocations\n",
			Requests: []string{
				getSweep,
				askLive,
				"PUT /workflows/12/cancel",
				"GET /allocations?max_age_seconds=3&workflow_id=12",
			},
		}},
		clitest.Case{Args: "cancel 12 --dry-run", Routes: clitest.Routes{"GET /workflows/12/cancellation": {Body: `{"workflow_id":12,"run_id":1,"is_canceled":false,` +
			`"jobs":[{"job_id":3,"name":"a","status":"running"},{"job_id":4,"name":"b","status":"pending"}],"not_started":1,` +
			`"allocations":[{"id":1,"slurm_job_id":812,"state":"active"},{"id":2,"state":"intent"}],"cpu_seconds":5400}`}}, Want: clitest.Result{
			Stdout:   "Would end 2 jobs: a, b\nWould cancel 2 allocations: 812, (not known yet)\n1 job would not start\nLost, unless the jobs save it: 1.5 CPU hours\n",
			Requests: []string{"GET /workflows/12/cancellation"},
		}},
		clitest.Case{Args: "cancel 12 --dry-run", Routes: clitest.Routes{"GET /workflows/12/cancellation": {Body: `{"workflow_id":12,"is_canceled":true}`}}, Want: clitest.Result{
			Stdout: "Workflow 12 is canceled already\n", Requests: []string{"GET /workflows/12/cancellation"},
		}},
		clitest.Case{Args: "cancel 12", Stdin: "no\n", Terminal: 80, Routes: routes, Want: clitest.Result{
			Stderr:   aboutSweep + "Nothing was done.\n",
			Requests: []string{getSweep},
		}},
		clitest.Case{Args: "cancel 12", Interrupt: "[y/N] ", Terminal: 80, Routes: routes, Want: clitest.Result{
			Status: cli.ExitInterrupted,
			Stderr: aboutSweep + `
error: interrupted
`,
			Requests: []string{getSweep},
		}},
		clitest.Case{Args: "cancel 12", Routes: routes, Want: clitest.Result{
			Status: cli.ExitUsage,
			Stderr: aboutSweep + `
error: cannot ask without a terminal; confirm with --no-prompts
`,
			Requests: []string{getSweep},
		}},
		clitest.Case{Args: "cancel 12 -f json", Routes: routes, Want: clitest.Result{
			Stdout: `{
  "status": "success",
  "workflow_id": 12,
  "canceled_slurm_jobs": [
    "812",
    "813"
  ]
}
`,
			Requests: []string{
				getSweep,
				askLive,
				"PUT /workflows/12/cancel",
				"GET /allocations?max_age_seconds=3&workflow_id=12",
			},
		}},
		clitest.Case{Args: "cancel 12 --yes", Routes: routes.With(clitest.Routes{cancel: refused(403, "workflow 12 is bob's")}), Want: clitest.Result{
			Status:   cli.ExitRefused,
			Stderr:   "error: workflow 12 is bob's\n",
			Requests: []string{getSweep, askLive, "PUT /workflows/12/cancel"},
		}},
	)
}

// TestShowCanceled: allocations that Slurm has not given up yet are told of.
func TestShowCanceled(t *testing.T) {
	left := CancelResult{Status: "partial_success", WorkflowID: 12, CanceledSlurmJobs: []string{"812"}, Errors: []string{"Slurm job 813 is still COMPLETING"}}
	clitest.Check(t, showing(func(a *cli.Factory) error { return showCanceled(a, left) }),
		clitest.Case{Args: "show", Want: clitest.Result{
			Status: cli.ExitFailed,
			Stdout: "Canceled workflow 12 and 1 Slurm job: 812\n",
			Stderr: "Slurm job 813 is still COMPLETING\n" +
				"The daemon goes on canceling them; `torc-slurm sq 12` shows what is left.\n",
		}},
	)
}

func TestDelete(t *testing.T) {
	const delete12, delete13, idle12 = "DELETE /workflows/12", "DELETE /workflows/13", "DELETE /workflows/12?if_idle=true"
	count := clitest.Reply{Body: `{"workflow_id":12,"total_jobs":7}`}
	routes := clitest.Routes{
		getSweep: {Body: sweep}, getStatus: count, "GET /workflows/13": {Body: `{"id":13,"name":"other","user":"ann"}`}, "GET /workflows/13/status": count,
		"GET /workflows/14": {Body: `{"id":14,"name":"theirs","user":"bob"}`}, delete12: {Body: sweep}, delete13: refused(409, "jobs of workflow 13 run"),
	}
	clitest.Check(t, NewDelete,
		wrong("delete 12 x", `"x" is not the id of a workflow: ids are numbers from 1`),
		clitest.Case{Args: "delete 12 14", Routes: routes, Want: clitest.Result{
			Status:   cli.ExitRefused,
			Stderr:   "error: workflow 14 belongs to bob\n",
			Requests: []string{getSweep, getStatus, "GET /workflows/14"},
		}},
		clitest.Case{Args: "delete 12", Stdin: "y\n", Terminal: 50, Routes: routes, Want: clitest.Result{
			Stdout: "Deleted workflow 12\n",
			Stderr: `╭────┬───────┬──────┬───────────────┬──────╮
│ ID │ Name  │ User │ Description   │ Jobs │
├────┼───────┼──────┼───────────────┼──────┤
│ 12 │ sweep │ ann  │ of parameters │ 7    │
╰────┴───────┴──────┴───────────────┴──────╯
Delete this workflow? [y/N] `,
			Requests: []string{getSweep, getStatus, "DELETE /workflows/12?if_idle=true"},
		}},
		clitest.Case{Args: "delete 12 13", Stdin: "\n", Terminal: 80, Routes: routes, Want: clitest.Result{
			Stderr: `╭────┬───────┬──────┬───────────────┬──────╮
│ ID │ Name  │ User │ Description   │ Jobs │
├────┼───────┼──────┼───────────────┼──────┤
│ 12 │ sweep │ ann  │ of parameters │ 7    │
│ 13 │ other │ ann  │               │ 7    │
╰────┴───────┴──────┴───────────────┴──────╯
Delete these 2 workflows? [y/N] Nothing was done.
`,
			Requests: []string{getSweep, getStatus, "GET /workflows/13", "GET /workflows/13/status"},
		}},
		clitest.Case{Args: "delete 13 12 --no-prompts", Routes: routes, Want: clitest.Result{
			Status: cli.ExitRefused,
			Stdout: "Deleted workflow 12\n",
			Stderr: "error: delete workflow 13: jobs of workflow 13 run\n",
			Requests: []string{
				"GET /workflows/13",
				"GET /workflows/13/status",
				getSweep,
				getStatus,
				"DELETE /workflows/13?if_idle=true",
				"DELETE /workflows/12?if_idle=true",
			},
		}},
		clitest.Case{Args: "delete 12 13 -f json", Routes: routes, Want: clitest.Result{
			Status: cli.ExitRefused,
			Stdout: `{
  "status": "partial_success",
  "deleted_workflows": [
    12
  ]
}
`,
			Stderr: `{
  "status": "error",
  "message": "delete workflow 13: jobs of workflow 13 run",
  "exit_status": 5
}
`,
			Requests: []string{
				getSweep,
				getStatus,
				"GET /workflows/13",
				"GET /workflows/13/status",
				"DELETE /workflows/12?if_idle=true",
				"DELETE /workflows/13?if_idle=true",
			},
		}},
		// What runs is canceled, and deleted once it has ended.
		clitest.Case{
			Args: "delete 12 --force", Want: clitest.Result{
				Stdout: "Deleted workflow 12\n",
				Requests: []string{
					getSweep,
					getStatus,
					"DELETE /workflows/12?if_idle=true",
					"PUT /workflows/12/cancel",
					"DELETE /workflows/12?if_idle=true",
				},
			},
			Routes: routes.With(clitest.Routes{idle12: {Status: 409, Body: `{"error":{"message":"jobs run"}}`, Then: []clitest.Reply{{Body: sweep}}}, "PUT /workflows/12/cancel": {Body: sweep}}),
		},
	)
}

func TestReset(t *testing.T) {
	const reset = "POST /workflows/12/reset"
	routes := clitest.Routes{getSweep: {Body: sweep}, reset: {Body: `{"workflow_id":12,"run_id":3,"jobs":1}`}}
	clitest.Check(t, NewReset,
		clitest.Case{Args: "reset 12 --failed-only", Terminal: 80, Stdin: "y\n", Routes: routes, Want: clitest.Result{
			Stdout: `Workflow 12 is ready for run 3
Reset 1 job
`,
			Stderr:   "Reset the jobs that did not succeed of workflow 12 (sweep)? [y/N] ",
			Requests: []string{getSweep, `POST /workflows/12/reset {"failed_only":true,"run_id":2}`},
		}},
		clitest.Case{Args: "reset 12", Terminal: 80, Stdin: "n\n", Routes: routes, Want: clitest.Result{
			Stderr:   "Reset all jobs of workflow 12 (sweep)? [y/N] Nothing was done.\n",
			Requests: []string{getSweep},
		}},
		clitest.Case{Args: "reset 12 -r --force --no-prompts", Routes: routes, Want: clitest.Result{
			Stdout: `Workflow 12 is ready for run 3
Reset 1 job
Initialized the jobs
`,
			Requests: []string{getSweep, `POST /workflows/12/reset {"force":true,"reinitialize":true,"run_id":2}`},
		}},
		clitest.Case{Args: "reset 12 -f json", Routes: routes, Want: clitest.Result{
			Stdout: `{
  "status": "success",
  "workflow_id": 12,
  "operations": {
    "reinitialize": false,
    "reset_job_status": true,
    "reset_workflow_status": true
  },
  "failed_only": false,
  "messages": [
    "Workflow 12 is ready for run 3",
    "Reset 1 job"
  ]
}
`,
			Requests: []string{getSweep, `POST /workflows/12/reset {"run_id":2}`},
		}},
		clitest.Case{Args: "reset 12 --yes", Routes: routes.With(clitest.Routes{reset: refused(409, "workflow 12 is running")}), Want: clitest.Result{
			Status:   cli.ExitRefused,
			Stderr:   "error: workflow 12 is running\n",
			Requests: []string{getSweep, `POST /workflows/12/reset {"run_id":2}`},
		}},
	)
}

func TestResume(t *testing.T) {
	const release = "POST /workflows/12/release_claims"
	clitest.Check(t, New,
		wrong("workflows resume 12 --kind hunger", "--kind hunger: write one of max_failures, breaker, deadline, pause"),
		clitest.Case{Args: "workflows resume 12", Routes: clitest.Routes{
			release: {Body: `{"released":2,"holds":[{"kind":"pause","reason":"paused by ann"},{"kind":"breaker","reason":"a breaker"}]}`},
		}, Want: clitest.Result{
			Stdout:   "Lifted 2 holds of the claims of workflow 12\n  paused by ann\n  a breaker\n",
			Requests: []string{"POST /workflows/12/release_claims {}"},
		}},
		clitest.Case{Args: "workflows resume 12 --kind breaker", Routes: clitest.Routes{release: {Body: `{"released":0}`}}, Want: clitest.Result{
			Stdout:   "Nothing held the claims of workflow 12\n",
			Requests: []string{`POST /workflows/12/release_claims {"kind":"breaker"}`},
		}},
	)
}

func TestPause(t *testing.T) {
	const pause = "POST /workflows/12/pause"
	reply := func(body string) clitest.Routes { return clitest.Routes{pause: {Body: body}} }
	clitest.Check(t, NewPause,
		clitest.Case{Args: "pause 12 --reason disk", Routes: reply(`{"workflow_id":12,"began":true,"jobs":[{"job_id":1,"name":"a"},{"job_id":2,"name":"b"}],"pending_allocations":[{"id":1}]}`), Want: clitest.Result{
			Stdout:   "Paused workflow 12; `torc-slurm resume 12` ends the pause\n2 jobs continue: a, b; --now ends them\n1 allocation keeps its place in the queue; --cancel-pending cancels it\n",
			Requests: []string{pause + ` {"reason":"disk"}`},
		}},
		clitest.Case{Args: "pause 12 --now --cancel-pending --dry-run", Routes: reply(`{"workflow_id":12,"began":true,"ending":1,"cpu_seconds":7200,"jobs":[{"job_id":1,"name":"a"},{"job_id":2,"name":"b"}],
			"unreachable":[{"job_id":2,"name":"b"}],"canceled_allocations":[{"id":1}]}`), Want: clitest.Result{
			Stdout: "Would pause workflow 12\n1 job is ended, and is ready again then\nLost, unless the jobs save it: 2.0 CPU hours\n" +
				"1 job continues: b: it is held by a runner of torc, which cannot be told\n1 pending allocation is canceled\n",
			Requests: []string{pause + ` {"now":true,"cancel_pending":true,"dry_run":true}`},
		}},
		clitest.Case{Args: "pause 12", Routes: clitest.Routes{pause: refused(409, "run 1 of workflow 12 has ended: there is nothing to pause")}, Want: clitest.Result{
			Status:   cli.ExitRefused,
			Stderr:   "error: run 1 of workflow 12 has ended: there is nothing to pause\n",
			Requests: []string{pause + ` {}`},
		}},
	)
}

// showing is a command that only shows something.
func showing(show func(a *cli.Factory) error) func(*cli.Factory) *cobra.Command {
	return func(a *cli.Factory) *cobra.Command {
		return &cobra.Command{Use: "show", RunE: func(*cobra.Command, []string) error { return show(a) }}
	}
}
