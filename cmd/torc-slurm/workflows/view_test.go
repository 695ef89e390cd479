package workflows

import (
	"testing"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli/clitest"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

func TestActions(t *testing.T) {
	const (
		list    = "GET /workflows/12/actions"
		action4 = "/workflows/12/actions/4"
		waits   = `{"id":4,"workflow_id":12,"trigger_type":"on_jobs_ready","action_type":"schedule_nodes","action_config":{"scheduler_id":2,"num_allocations":3},"job_ids":[41,42],"trigger_count":1,"required_triggers":2,"status":"waiting"}`
		looks   = `{"id":5,"workflow_id":12,"trigger_type":"auto_schedule_on_ready_jobs","action_type":"schedule_nodes","action_config":{},"executed":true,"status":"automatic"}`
	)
	routes := clitest.Routes{list: {Body: "[" + waits + "," + looks + "]"}, "PUT " + action4: {Body: waits}, "DELETE " + action4: {Body: `{"message":"deleted"}`}}
	clitest.Check(t, New,
		clitest.Case{Args: "workflows list-actions 12", Routes: routes, Want: clitest.Result{
			Stdout: `╭────┬─────────────────────────────┬────────────────┬─────────────┬──────────┬───────────┬─────────────┬─────────╮
│ ID │ Trigger                     │ Action         │ Allocations │ Progress │ Status    │ Executed At │ Job IDs │
├────┼─────────────────────────────┼────────────────┼─────────────┼──────────┼───────────┼─────────────┼─────────┤
│ 4  │ on_jobs_ready               │ schedule_nodes │ 3           │ 1/2      │ waiting   │             │ 41, 42  │
│ 5  │ auto_schedule_on_ready_jobs │ schedule_nodes │ as needed   │          │ automatic │             │         │
╰────┴─────────────────────────────┴────────────────┴─────────────┴──────────┴───────────┴─────────────┴─────────╯
Total: 2 actions
`,
			Requests: []string{"GET /workflows/12/actions"},
		}},
		clitest.Case{Args: "workflows list-actions 12 -f csv", Routes: clitest.Routes{list: {Body: `[]`}}, Want: clitest.Result{
			Stdout:   "ID,Trigger,Action,Allocations,Progress,Status,Executed At,Job IDs\n",
			Requests: []string{list},
		}},
		wrong("workflows update-action 12 4", "at least one of the flags in the group [scheduler-id scheduler-type num-allocations start-one-worker-per-node max-parallel-jobs json] is required"),
		wrong("workflows update-action 12 x --num-allocations 1", `"x" is not the id of an action: ids are numbers from 1`),
		wrong("workflows update-action 12 4 --json 3", "--json is not a JSON object: 3"),
		clitest.Case{Args: "workflows update-action 12 4 --start-one-worker-per-node maybe", Want: clitest.Result{
			Status: cli.ExitUsage,
			Stderr: "error: --start-one-worker-per-node \"maybe\" is not true or false; see `torc-slurm workflows update-action --help`\n",
		}},
		// A flag of its own goes before the same key of --json.
		clitest.Case{Args: `workflows update-action 12 4 --num-allocations 0 --start-one-worker-per-node false --json '{"num_allocations": 7, "commands": ["x"]}'`, Routes: routes, Want: clitest.Result{
			Stdout:   "Updated action 4 of workflow 12\n",
			Requests: []string{`PUT /workflows/12/actions/4 {"commands":["x"],"num_allocations":0,"start_one_worker_per_node":false}`},
		}},
		clitest.Case{Args: "workflows update-action 12 4 --scheduler-id 3 --scheduler-type slurm --max-parallel-jobs 2", Routes: routes, Want: clitest.Result{
			Stdout:   "Updated action 4 of workflow 12\n",
			Requests: []string{`PUT /workflows/12/actions/4 {"max_parallel_jobs":2,"scheduler_id":3,"scheduler_type":"slurm"}`},
		}},
		clitest.Case{Args: "workflows delete-action 12 4", Stdin: "n\n", Terminal: 80, Routes: routes, Want: clitest.Result{Stderr: "Delete action 4 of workflow 12? [y/N] Nothing was done.\n"}},
		clitest.Case{Args: "workflows delete-action 12 4 --yes", Routes: routes, Want: clitest.Result{Stdout: "Deleted action 4 of workflow 12\n", Requests: []string{"DELETE /workflows/12/actions/4"}}},
		clitest.Case{Args: "workflows delete-action 12 4 -f json", Routes: clitest.Routes{"DELETE " + action4: refused(409, "action 4 was executed")}, Want: clitest.Result{
			Status: cli.ExitRefused,
			Stderr: `{
  "status": "error",
  "message": "action 4 was executed",
  "exit_status": 5
}
`,
			Requests: []string{"DELETE /workflows/12/actions/4"},
		}},
	)
}

func TestResources(t *testing.T) {
	const check, correct = "GET /workflows/12/check_resources", "POST /workflows/12/correct_resources"
	use := api.ResourceReport{
		WorkflowID: 12, TotalResults: 2, OverUtilizationCount: 1,
		Violations:   []api.ResourceUse{{JobID: 41, JobName: "big", ResourceType: workflow.ResourceMemory, Specified: "2.00 GiB", PeakUsed: "3.00 GiB", OverUtilization: "+50.0%"}},
		WithinLimits: []api.ResourceUse{{JobID: 42, JobName: "small", ResourceType: workflow.ResourceCPU, Specified: "4", PeakUsed: "2", OverUtilization: "-50.0%"}},
	}
	report := func(dryRun bool) clitest.Reply {
		return clitest.Reply{Body: api.CorrectionReport{Status: "success", WorkflowID: 12, DryRun: dryRun, Adjustments: []api.Adjustment{
			{ResourceRequirementsID: 3, ResourceRequirementsName: "large", Resource: workflow.ResourceMemory, Old: "2g", New: "4g", JobIDs: []int64{41}, Reason: "job 41 used 3 GiB"},
		}}}
	}
	clitest.Check(t, New,
		clitest.Case{Args: "workflows check-resources 12 -r 2 -a --include-failed --min-over-utilization 0", Routes: clitest.Routes{check: {Body: use}}, Want: clitest.Result{
			Stdout: `╭────────┬──────────┬──────────┬───────────┬───────────┬─────────────╮
│ Job ID │ Job Name │ Resource │ Specified │ Peak Used │ Utilization │
├────────┼──────────┼──────────┼───────────┼───────────┼─────────────┤
│ 41     │ big      │ Memory   │ 2.00 GiB  │ 3.00 GiB  │ +50.0%      │
│ 42     │ small    │ CPU      │ 4         │ 2         │ -50.0%      │
╰────────┴──────────┴──────────┴───────────┴───────────┴─────────────╯
Total: 2 comparisons
`,
			Requests: []string{"GET /workflows/12/check_resources?all=true&include_failed=true&min_over_percent=0&run_id=2"},
		}},
		clitest.Case{Args: "workflows check-resources 12 -f csv", Routes: clitest.Routes{check: {Body: api.ResourceReport{WorkflowID: 12}}}, Want: clitest.Result{
			Stdout:   "Job ID,Job Name,Resource,Specified,Peak Used,Utilization\n",
			Requests: []string{"GET /workflows/12/check_resources?min_over_percent=1"},
		}},
		wrong("workflows correct-resources 12 --cpu-multiplier 0.5", "a multiplier of 0.5 leaves less than was used; it must be at least 1"),
		clitest.Case{Args: "workflows correct-resources 12 --job-ids 41,x", Want: clitest.Result{Status: cli.ExitUsage, Stderr: "error: \"x\" is not the id of a job: ids are numbers from 1\n"}},
		clitest.Case{Args: "workflows correct-resources 12 --dry-run --job-ids 41,42,41 --no-downsize", Routes: clitest.Routes{correct: report(true)}, Want: clitest.Result{
			Stdout: `╭───────┬─────────┬──────────┬─────┬─────┬───────────────────╮
│ RR ID │ RR Name │ Resource │ Old │ New │ Reason            │
├───────┼─────────┼──────────┼─────┼─────┼───────────────────┤
│ 3     │ large   │ Memory   │ 2g  │ 4g  │ job 41 used 3 GiB │
╰───────┴─────────┴──────────┴─────┴─────┴───────────────────╯
Total: 1 corrections
`,
			Stderr: "Nothing was changed: this was a dry run.\n",
			Requests: []string{
				`POST /workflows/12/correct_resources {"dry_run":true,"memory_multiplier":1.2,"cpu_multiplier":1.2,"runtime_multiplier":1.2,"no_downsize":true,"job_ids":[41,42]}`,
			},
		}},
		clitest.Case{Args: "workflows correct-resources 12 --memory-multiplier 2 --runtime-multiplier 1 -f csv", Routes: clitest.Routes{correct: report(false)}, Want: clitest.Result{
			Stdout: `RR ID,RR Name,Resource,Old,New,Reason
3,large,Memory,2g,4g,job 41 used 3 GiB
`,
			Requests: []string{`POST /workflows/12/correct_resources {"memory_multiplier":2,"cpu_multiplier":1.2,"runtime_multiplier":1}`},
		}},
	)
}

func TestDiagnose(t *testing.T) {
	const diagnosis = "GET /workflows/12/diagnosis"
	hour := placement.SecondsSpan{Min: 60, Median: 1800, Max: 3600}
	says := func(d api.Diagnosis) clitest.Routes { return clitest.Routes{diagnosis: {Body: d}} }
	clitest.Check(t, New,
		clitest.Case{Args: "workflows diagnose 12", Want: clitest.Result{
			Stdout: `Live runners:  2, 0 without end
  time left:   1m0s to 1h0m0s, median 30m0s
Ready jobs:    3, 2 declare a runtime
  runtime:     1m0s to 1h0m0s, median 30m0s
2 ready jobs would not end in any of these allocations; ask for longer ones
`,
			Requests: []string{diagnosis},
		}, Routes: says(api.Diagnosis{
			ActiveAllocations: 2, ReadyJobs: 3, ReadyJobsWithRuntime: 2, Remaining: &hour, Runtime: &hour, Blocked: true, BlockedJobs: 2, TooShortForLongest: 1})},
		clitest.Case{Args: "workflows diagnose 12", Want: clitest.Result{
			Stdout: `Live runners:  2, 0 without end
Ready jobs:    0, 0 declare a runtime
2 allocations are too short for the longest ready job
`,
			Requests: []string{diagnosis},
		}, Routes: says(api.Diagnosis{ActiveAllocations: 2, TooShortForLongest: 2})},
		clitest.Case{Args: "workflows diagnose 12", Want: clitest.Result{
			Stdout: `Live runners:  0, 0 without end
Ready jobs:    1, 0 declare a runtime
Nobody works on it.
`,
			Requests: []string{diagnosis},
		}, Routes: says(api.Diagnosis{ReadyJobs: 1})},
		clitest.Case{Args: "workflows diagnose 12", Want: clitest.Result{
			Stdout: `Live runners:  1, 1 without end
Ready jobs:    0, 0 declare a runtime
No ready job is too long for what is there.
`,
			Requests: []string{diagnosis},
		}, Routes: says(api.Diagnosis{ActiveAllocations: 1, AllocationsUnlimited: 1})},
	)
}

func TestStatus(t *testing.T) {
	const why = "GET /workflows/12/why"
	seconds := func(n int64) *int64 { return &n }
	walltime := 3661.0
	running := api.WorkflowStatus{
		WorkflowID: 12, WorkflowName: "sweep", WorkflowUser: "ann", RunID: 2, TotalJobs: 5, JobsByStatus: api.JobCounts{Running: 1, Ready: 2, Completed: 2},
		TotalExecTimeMinutes: 90, WalltimeSeconds: &walltime, ActiveComputeNodes: 1, ActiveScheduledNodes: 1, PendingScheduledNodes: 2,
		RuntimeBlockedReadyJobs: 2, LongestReadyRuntimeSeconds: seconds(7200), MaxAllocationRemainingSeconds: seconds(1800),
		UnservedReadyLabels: map[string]int64{"gpu": 1, "big": 2}, AllocationReasons: []string{"one more: 2 jobs have no place"},
		Attempts: &stage.AttemptCounts{Ended: 3, Retried: 1}, Runners: []api.RunnerState{{ComputeNodeID: 9, Hostname: "n1", Jobs: 1, SilentSeconds: seconds(75)}},
		CanceledBy: []stage.CanceledGroup{},
	}
	failed := api.WorkflowStatus{WorkflowID: 12, WorkflowName: "sweep", WorkflowUser: "ann", RunID: 2, TotalJobs: 2, IsComplete: true, Verdict: "failed", JobsByStatus: api.JobCounts{Completed: 1, Failed: 1}}
	short := func(s api.WorkflowStatus) clitest.Routes { return clitest.Routes{getStatus: {Body: s}} }
	clitest.Check(t, NewStatus,
		clitest.Case{Args: "status 12", Routes: short(running), Want: clitest.Result{
			Stdout: `ID:           12
Name:         sweep
User:         ann
Run:          2
Jobs:         5
  completed:  2
  running:    1
  ready:      2
Time used:    1:30:00
Walltime:     1:01:01
Runners:      1
Runner:       9 on n1 (1 job): silent for 1m15s
Allocations:  1 active, 2 pending
Allocation:   one more: 2 jobs have no place
Attempts:     3 ended; 1 retried
The workflow is running.
`,
			Stderr: `warning: 2 ready jobs want to run for up to 2:00:00, but no runner has more than 30:00 left
warning: no runner has the labels "big" that 2 ready jobs want
warning: no runner has the labels "gpu" that 1 ready job wants
`,
			Requests: []string{getStatus},
		}},
		clitest.Case{Args: "status", Routes: clitest.Routes{"GET /workflows": {Body: `{"items":[{"id":11,"name":"v","user":"ann"},` + sweep + `]}`}, getStatus: {Body: failed}, why: {Body: `{"next":"torc-slurm recover 12"}`}}, Want: clitest.Result{
			Stdout: `ID:           12
Name:         sweep
User:         ann
Run:          2
Jobs:         2
  completed:  1
  failed:     1
Time used:    0:00
The workflow has ended: 1 failed, 0 terminated, 0 canceled.
Next: torc-slurm recover 12
`,
			Requests: []string{"GET /workflows?is_archived=false&user=ann", getStatus, "GET /workflows/12/why"},
		}},
		clitest.Case{Args: "status 12 -f json", Routes: short(failed), Want: clitest.Result{
			Stdout: `{
  "workflow_id": 12,
  "workflow_name": "sweep",
  "workflow_user": "ann",
  "total_jobs": 2,
  "jobs_by_status": {
    "uninitialized": 0,
    "blocked": 0,
    "ready": 0,
    "pending": 0,
    "running": 0,
    "completed": 1,
    "failed": 1,
    "canceled": 0,
    "terminated": 0,
    "disabled": 0,
    "pending_failed": 0
  },
  "total_exec_time_minutes": 0,
  "active_compute_nodes": 0,
  "pending_scheduled_nodes": 0,
  "active_scheduled_nodes": 0,
  "is_complete": true,
  "is_canceled": false,
  "runtime_blocked_ready_jobs": 0,
  "run_id": 2,
  "verdict": "failed",
  "total_exec_time_formatted": "0:00"
}
`,
			Requests: []string{getStatus},
		}},
		clitest.Case{Args: "status 99", Routes: clitest.Routes{"GET /workflows/99/status": refused(404, "there is no workflow 99")}, Want: clitest.Result{Status: 3, Stderr: "error: there is no workflow 99\n", Requests: []string{"GET /workflows/99/status"}}},
	)
}

// TestVerdictLines: the last line says how a workflow ended, or what has to be done.
func TestVerdictLines(t *testing.T) {
	ended := func(verdict string, n api.JobCounts) api.WorkflowStatus {
		return api.WorkflowStatus{WorkflowID: 7, TotalJobs: 2, IsComplete: true, Verdict: verdict, JobsByStatus: n}
	}
	givenUp := ended("failed", api.JobCounts{Failed: 1, Canceled: 1})
	givenUp.GivenUp = "job a has failed"
	goesOn := givenUp
	goesOn.IsComplete = false
	for _, tt := range []struct {
		status api.WorkflowStatus
		want   string
	}{
		{api.WorkflowStatus{IsCanceled: true}, "The workflow is canceled."},
		{api.WorkflowStatus{}, "The workflow has no jobs."},
		{givenUp, "The workflow has ended, as the run was aborted: 1 failed, 0 terminated, 1 canceled."},
		{goesOn, "The run was aborted and is ending."},
		{ended("failed", api.JobCounts{Completed: 2}), "The workflow has ended: every job completed, but its success_if does not hold."},
		{ended("completed", api.JobCounts{Completed: 2}), "The workflow has ended: every job completed."},
		{ended("completed", api.JobCounts{Completed: 1, Terminated: 1}), "The workflow has ended successfully by its success_if: 0 failed, 1 terminated, 0 canceled."},
		{ended("failed", api.JobCounts{Completed: 1, Failed: 1}), "The workflow has ended: 1 failed, 0 terminated, 0 canceled."},
		{api.WorkflowStatus{WorkflowID: 7, TotalJobs: 2, JobsByStatus: api.JobCounts{Uninitialized: 1, Disabled: 1}}, "The workflow has not been started: `torc-slurm -s run 7`."},
		{api.WorkflowStatus{WorkflowID: 7, TotalJobs: 2, JobsByStatus: api.JobCounts{Ready: 2}}, "The workflow is not finished and nothing works on it: `torc-slurm -s run 7` goes on."},
	} {
		if got := verdictLine(&tt.status, "torc-slurm -s"); got != tt.want {
			t.Errorf("%s\nwant %s", got, tt.want)
		}
	}
}

const (
	wrongSpec = `$DIR/wrong.yaml:3:5: jobs[0]: the key "command" is missing
  3 |   - name: a
    |     ^
  = a job needs a command, or the key workflow with the file of a sub-workflow

$DIR/wrong.yaml:4:5: jobs[0].comand: unknown key "comand"
  4 |     comand: echo
    |     ^^^^^^
  = did you mean command?
`
)

func TestCreate(t *testing.T) {
	const create = "POST /workflows/definition"
	files := map[string]string{
		"good.yaml":  "name: w\ndescription: two jobs\njobs:\n  - name: a_{i}\n    command: echo {i}\n    parameters: {i: \"1:3\"}\n",
		"wrong.yaml": "name: w\njobs:\n  - name: a\n    comand: echo\n",
	}
	clitest.Check(t, NewCreate,
		clitest.Case{Args: "create --dry-run $DIR/good.yaml", Files: files, Want: clitest.Result{
			Stdout: `Workflow:     w
Description:  two jobs
Jobs:         3, from 1 entries
Files:        0
The specification is valid.
`,
		}},
		clitest.Case{Args: "create --dry-run $DIR/wrong.yaml", Files: files, Want: clitest.Result{
			Status: cli.ExitInvalidSpec,
			Stdout: wrongSpec + `
The specification is invalid.
`,
		}},
		clitest.Case{Args: "create $DIR/wrong.yaml", Files: files, Want: clitest.Result{
			Status: cli.ExitInvalidSpec,
			Stderr: wrongSpec,
		}},
		clitest.Case{Args: "create away.yaml", Want: clitest.Result{Status: 3, Stderr: "error: there is no file away.yaml\n"}},
		clitest.Case{Args: "create -f json -", Stdin: "name: 3", Want: clitest.Result{
			Status: cli.ExitInvalidSpec,
			Stderr: `{
  "status": "error",
  "message": "<stdin>:1:1: the key \"jobs\" is missing\n<stdin>:1:7: name: expected a string, found a whole number \"3\" (put it in quotes: \"3\")",
  "exit_status": 6,
  "errors": [
    {
      "file": "<stdin>",
      "line": 1,
      "column": 1,
      "message": "the key \"jobs\" is missing",
      "excerpt": "name: 3"
    },
    {
      "file": "<stdin>",
      "line": 1,
      "column": 7,
      "path": "name",
      "message": "expected a string, found a whole number \"3\"",
      "hint": "put it in quotes: \"3\"",
      "excerpt": "name: 3"
    }
  ]
}
`,
		}},
	)
	for args, want := range map[string]string{
		"create -":         "Created workflow 12\n",
		"create -f json -": "{\n  \"workflow_id\": 12,\n  \"status\": \"success\",\n  \"message\": \"Created workflow 12\"\n}\n",
	} {
		got := clitest.Run(t, NewCreate, clitest.Case{Args: args, Stdin: files["good.yaml"], Routes: clitest.Routes{create: {Body: `{"workflow_id":12}`}}})
		if got.Status != 0 || got.Stdout != want || len(got.Requests) != 1 {
			t.Errorf("%s: %+v", args, got)
		}
	}
}

func TestExecutionPlan(t *testing.T) {
	const plan = "GET /workflows/12/execution_plan"
	stored := `{"workflow_id":12,"workflow_name":"sweep","total_jobs":2,"events":[
		{"id":"start","trigger_description":"at the start","scheduler_allocations":[{"scheduler":"short","scheduler_type":"slurm","num_allocations":2}],"jobs_becoming_ready":["a"],"unlocks_events":["after a"]},
		{"id":"after a","trigger_description":"when a has ended","jobs_becoming_ready":["b"]}]}`
	files := map[string]string{"good.yaml": "name: w\njobs:\n  - {name: a, command: x}\n  - {name: b, command: x, depends_on: [a]}\n"}
	clitest.Check(t, New,
		clitest.Case{Args: "workflows execution-plan 12", Routes: clitest.Routes{plan: {Body: stored}}, Want: clitest.Result{
			Stdout: `sweep: 2 jobs, 2 events
├─ start: at the start
│    asks for 2 allocations of short (slurm)
│    ready: a
│    then:  after a
└─ after a: when a has ended
     ready: b
`,
			Requests: []string{"GET /workflows/12/execution_plan"},
		}},
		clitest.Case{Args: "workflows execution-plan $DIR/good.yaml", Files: files, Want: clitest.Result{
			Stdout: `w: 2 jobs, 2 events
├─ start: the workflow starts
│    ready: a
│    then:  after_a
└─ after_a: when a has ended
     ready: b
`,
		}},
		clitest.Case{Args: "workflows execution-plan 0", Want: clitest.Result{Status: 3, Stderr: "error: there is no file 0\n"}},
	)
}
