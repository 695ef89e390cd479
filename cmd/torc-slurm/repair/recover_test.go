package repair

import (
	"strings"
	"testing"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli/clitest"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/usage"
)

const (
	askRecover = "POST /workflows/12/recover"
	askLive    = "GET /workflows/12/allocations"
	askEvents  = "POST /events"
)

// What most of the cases ask for and show.
const (
	proposed = `POST /workflows/12/recover {"dry_run":true,"memory_multiplier":1.5,"runtime_multiplier":1.5,"skip":["unknown"]}`
	applied  = `POST /workflows/12/recover {"memory_multiplier":1.5,"runtime_multiplier":1.5,"skip":["unknown"],"run_id":3,"jobs":[{"job_id":41,"status":"failed"},{"job_id":42,"status":"terminated"},{"job_id":43,"status":"failed"}]}`
	live     = "GET /workflows/12/allocations?live=true"

	repeated = `1 job out of memory: retried
  big (job 41): used more than 2 GiB
1 job out of time: retried
  slow (job 42): its hour was up
1 job lost with their node or allocation: retried
  lost (job 43): node n1 failed
`
	othersLeft = `1 job failed for other reasons: left as they are
  odd (job 44): exit code 1
`
	changed = "Requirements large: memory 2g to 3g; for 1 job only, others are unchanged\n"
)

// proposal is what the daemon would repeat of workflow 12: a job of each group.
func proposal(usesSlurm bool) api.RecoveryPlan {
	return api.RecoveryPlan{
		WorkflowID: 12, RunID: 3, UsesSlurm: usesSlurm,
		Jobs: []api.RecoverableJob{
			{JobID: 41, JobName: "big", Status: workflow.Failed, Group: usage.GroupMemory, Cause: workflow.CauseOOM, Text: "used more than 2 GiB"},
			{JobID: 42, JobName: "slow", Status: workflow.Terminated, Group: usage.GroupRuntime, Cause: workflow.CauseTimeout, Text: "its hour was up"},
			{JobID: 43, JobName: "lost", Status: workflow.Failed, Group: usage.GroupOutside, Cause: workflow.CauseNodeFail, Text: "node n1 failed"},
			{JobID: 44, JobName: "odd", Status: workflow.Failed, Group: usage.GroupUnknown, Cause: workflow.CauseExit, Text: "exit code 1"},
		},
		Changes: []api.RecoveryChange{{Name: "large", Clone: true, JobIDs: []int64{41}, Text: "memory 2g to 3g", Adjustments: []api.Adjustment{}}},
	}
}

// quiet are the answers where no allocation is left and nothing has changed.
var quiet = clitest.Routes{
	askRecover: {Body: proposal(false)}, askLive: {Body: `{"items":[]}`}, askEvents: {Body: `{"id":1,"workflow_id":12,"data":{}}`},
}

func TestRecoverRejects(t *testing.T) {
	none := clitest.Routes{askRecover: {Body: api.RecoveryPlan{WorkflowID: 12}}}
	unknown := proposal(false)
	unknown.Jobs = unknown.Jobs[3:]
	stays := clitest.Reply{Body: `{"items":[{"id":7,"workflow_id":12,"state":"active","slurm_job_id":812}]}`}
	clitest.Check(t, New,
		clitest.Case{Args: "recover 12 --memory-multiplier 0.5", Want: clitest.Result{Status: cli.ExitUsage, Stderr: "error: a multiplier must be 1 or more: less would not suffice again\n"}},
		clitest.Case{Args: "recover 12 --runtime-multiplier 0.9", Want: clitest.Result{Status: cli.ExitUsage, Stderr: "error: a multiplier must be 1 or more: less would not suffice again\n"}},
		clitest.Case{Args: "recover 12 --walltime soon", Want: clitest.Result{
			Status: cli.ExitUsage,
			Stderr: "error: --walltime \"soon\" is not a time limit for sbatch, such as 04:00:00 or 2-12:00:00\n",
		}},
		clitest.Case{Args: "recover", Want: clitest.Result{
			Status: cli.ExitUsage,
			Stderr: "error: accepts 1 arg(s), received 0; usage: torc-slurm recover WORKFLOW [flags]\n",
		}},
		// Nothing has failed, or nothing for a reason that a repetition mends.
		clitest.Case{Args: "recover 12", Routes: none, Want: clitest.Result{
			Status:   cli.ExitFailed,
			Stderr:   "error: no job of workflow 12 has failed\n",
			Requests: []string{proposed},
		}},
		clitest.Case{Args: "recover 12 --dry-run", Routes: clitest.Routes{askRecover: {Body: unknown}}, Want: clitest.Result{
			Status: cli.ExitFailed,
			Stderr: "error: 1 job failed, none for a reason that a retry would solve\n" +
				"hint: --retry-unknown retries them anyway; `torc-slurm why JOB` shows what happened\n",
			Requests: []string{proposed},
		}},
		// The daemon refuses; its hint names the command as the user has to call it.
		clitest.Case{
			Args: "-s --db x.db recover 12", Routes: clitest.Routes{askRecover: {Status: 409, Body: `{"error":{"error":"Conflict","message":"workflow 12 has not ended","hint":"` + "`torc-slurm cancel 12`" + ` ends it"}}`}},
			Want: clitest.Result{
				Status: cli.ExitRefused,
				Stderr: "error: workflow 12 has not ended\n" +
					"hint: `torc-slurm -s --db x.db cancel 12` ends it\n",
				Requests: []string{proposed},
			},
		},
		// The workflow may not be reset under runners of the last run.
		clitest.Case{
			Args: "recover 12 -f json", Routes: quiet.With(clitest.Routes{askLive: stays, "GET /allocations": {Status: 503, Body: `{"error":{"message":"Slurm does not answer"}}`}}),
			Want: clitest.Result{
				Status: cli.ExitUnreachable,
				Stderr: `{
  "status": "error",
  "message": "Slurm does not answer",
  "exit_status": 4
}
`,
				Requests: []string{
					proposed,
					live,
					"GET /allocations?max_age_seconds=3&workflow_id=12",
				},
			},
		},
	)
}

func TestRecover(t *testing.T) {
	left := proposal(false)
	left.Left = []api.LeftJob{{JobID: 43, JobName: "lost", Status: workflow.Completed}}
	clitest.Check(t, New,
		clitest.Case{Args: "recover 12 --dry-run", Routes: quiet, Want: clitest.Result{
			Stdout: repeated + othersLeft + changed + `Nothing was changed: this was a dry run.
`,
			Requests: []string{proposed},
		}},
		clitest.Case{Args: "recover 12 --memory-multiplier 2 --runtime-multiplier 3", Routes: quiet, Want: clitest.Result{
			Stdout: repeated + othersLeft + changed +
				"The jobs are ready: `torc-slurm run 12` runs them.\n",
			Requests: []string{
				`POST /workflows/12/recover {"dry_run":true,"memory_multiplier":2,"runtime_multiplier":3,"skip":["unknown"]}`,
				live,
				`POST /workflows/12/recover {"memory_multiplier":2,"runtime_multiplier":3,"skip":["unknown"],"run_id":3,"jobs":[{"job_id":41,"status":"failed"},{"job_id":42,"status":"terminated"},{"job_id":43,"status":"failed"}]}`,
				`POST /events {"workflow_id":12,"timestamp":0,"data":{"category":"recovery","event_type":"recovery","result":{"oom_fixed":1,"timeout_fixed":1,"unknown_retried":0,"outside_retried":1,"other_failures":1,"jobs_to_retry":[41,42,43],"adjustments":[]}}}`,
			},
		}},
		clitest.Case{Args: "recover 12 --retry-unknown -f json", Routes: quiet, Want: clitest.Result{
			Stdout: `{
  "workflow_id": 12,
  "dry_run": false,
  "memory_multiplier": 1.5,
  "runtime_multiplier": 1.5,
  "result": {
    "oom_fixed": 1,
    "timeout_fixed": 1,
    "unknown_retried": 1,
    "outside_retried": 1,
    "other_failures": 0,
    "jobs_to_retry": [
      41,
      42,
      43,
      44
    ],
    "adjustments": []
  },
  "diagnosis": [
    {
      "job_id": 41,
      "job_name": "big",
      "group": "oom",
      "cause": "oom",
      "text": "used more than 2 GiB",
      "retry": true
    },
    {
      "job_id": 42,
      "job_name": "slow",
      "group": "timeout",
      "cause": "timeout",
      "text": "its hour was up",
      "retry": true
    },
    {
      "job_id": 43,
      "job_name": "lost",
      "group": "outside",
      "cause": "node_fail",
      "text": "node n1 failed",
      "retry": true
    },
    {
      "job_id": 44,
      "job_name": "odd",
      "group": "unknown",
      "cause": "exit",
      "text": "exit code 1",
      "retry": true
    }
  ]
}
`,
			Requests: []string{
				`POST /workflows/12/recover {"dry_run":true,"memory_multiplier":1.5,"runtime_multiplier":1.5}`,
				live,
				`POST /workflows/12/recover {"memory_multiplier":1.5,"runtime_multiplier":1.5,"run_id":3,"jobs":[{"job_id":41,"status":"failed"},{"job_id":42,"status":"terminated"},{"job_id":43,"status":"failed"},{"job_id":44,"status":"failed"}]}`,
				`POST /events {"workflow_id":12,"timestamp":0,"data":{"category":"recovery","event_type":"recovery","result":{"oom_fixed":1,"timeout_fixed":1,"unknown_retried":1,"outside_retried":1,"other_failures":0,"jobs_to_retry":[41,42,43,44],"adjustments":[]}}}`,
			},
		}},
		// A job that somebody has changed since the proposal is told of.
		clitest.Case{Args: "recover 12 --no-prompts", Routes: quiet.With(clitest.Routes{askRecover: {Body: proposal(false), Then: []clitest.Reply{{Body: left}}}}), Want: clitest.Result{
			Stdout: "1 job out of memory: retried\n" +
				"  big (job 41): used more than 2 GiB\n" +
				"1 job out of time: retried\n" +
				"  slow (job 42): its hour was up\n" +
				"1 job failed for other reasons: left as they are\n" +
				"  odd (job 44): exit code 1\n" +
				"Requirements large: memory 2g to 3g; for 1 job only, others are unchanged\n" +
				"The jobs are ready: `torc-slurm run 12` runs them.\n",
			Stderr: "Job 43 (lost) is completed by now and is not changed.\n",
			Requests: []string{
				proposed,
				live,
				applied,
				`POST /events {"workflow_id":12,"timestamp":0,"data":{"category":"recovery","event_type":"recovery","result":{"oom_fixed":1,"timeout_fixed":1,"unknown_retried":0,"outside_retried":0,"other_failures":1,"jobs_to_retry":[41,42],"adjustments":[]}}}`,
			},
		}},
	)
}

// TestRecoverHook: requirements are corrected before the hook runs, and jobs reset after
// it, unless it fails.
func TestRecoverHook(t *testing.T) {
	files := map[string]string{"mend.sh": "#!/bin/sh\necho \"mends $* of $TORC_WORKFLOW_ID\" | tee mended\n", "fail.sh": "#!/bin/sh\nexit 3\n"}
	clitest.Check(t, New,
		clitest.Case{Args: "recover 12 --recovery-hook './mend.sh now'", Files: files, Routes: quiet, Read: []string{"mended"}, Want: clitest.Result{
			Stdout: repeated + strings.Replace(othersLeft, "left as they are", "retried", 1) + changed +
				"The jobs are ready: `torc-slurm run 12` runs them.\n",
			Stderr: "mends now 12 of 12\n",
			Requests: []string{
				`POST /workflows/12/recover {"dry_run":true,"memory_multiplier":1.5,"runtime_multiplier":1.5}`,
				live,
				`POST /workflows/12/recover {"memory_multiplier":1.5,"runtime_multiplier":1.5,"run_id":3,"jobs":[{"job_id":41,"status":"failed"},{"job_id":42,"status":"terminated"},{"job_id":43,"status":"failed"},{"job_id":44,"status":"failed"}],"step":"correct"}`,
				`POST /workflows/12/recover {"memory_multiplier":1.5,"runtime_multiplier":1.5,"run_id":3,"jobs":[{"job_id":41,"status":"failed"},{"job_id":42,"status":"terminated"},{"job_id":43,"status":"failed"},{"job_id":44,"status":"failed"}],"step":"repeat"}`,
				`POST /events {"workflow_id":12,"timestamp":0,"data":{"category":"recovery","event_type":"recovery","result":{"oom_fixed":1,"timeout_fixed":1,"unknown_retried":1,"outside_retried":1,"other_failures":0,"jobs_to_retry":[41,42,43,44],"adjustments":[]}}}`,
			},
			Files: map[string]string{"mended": "mends now 12 of 12\n"},
		}},
		clitest.Case{Args: "recover 12 --recovery-hook ./fail.sh", Files: files, Routes: quiet, Want: clitest.Result{
			Status: cli.ExitFailed,
			Stderr: "error: the recovery hook failed: exit status 3; the requirements are corrected, but no job is reset\n",
			Requests: []string{
				`POST /workflows/12/recover {"dry_run":true,"memory_multiplier":1.5,"runtime_multiplier":1.5}`,
				live,
				`POST /workflows/12/recover {"memory_multiplier":1.5,"runtime_multiplier":1.5,"run_id":3,"jobs":[{"job_id":41,"status":"failed"},{"job_id":42,"status":"terminated"},{"job_id":43,"status":"failed"},{"job_id":44,"status":"failed"}],"step":"correct"}`,
			},
		}},
	)
}

// TestRecoverAsks: on a terminal the user decides about each group.
func TestRecoverAsks(t *testing.T) {
	clitest.Check(t, New,
		clitest.Case{Args: "recover 12 --dry-run", Terminal: 80, Routes: quiet, Want: clitest.Result{
			Stdout: repeated + othersLeft + changed + `Nothing was changed: this was a dry run.
`,
			Requests: []string{proposed},
		}},
		// An answer that is none is asked for again.
		clitest.Case{Args: "recover 12", Terminal: 80, Stdin: "0.5\n2.5\ns\nR\nwhat\n\ny\n", Routes: quiet, Want: clitest.Result{
			Stdout: "1 job out of memory: retried\n" +
				"  big (job 41): used more than 2 GiB\n" +
				"1 job out of time: left as they are\n" +
				"  slow (job 42): its hour was up\n" +
				"1 job lost with their node or allocation: retried\n" +
				"  lost (job 43): node n1 failed\n" +
				"1 job failed for other reasons: left as they are\n" +
				"  odd (job 44): exit code 1\n" +
				"Requirements large: memory 2g to 3g; for 1 job only, others are unchanged\n" +
				"The jobs are ready: `torc-slurm run 12` runs them.\n",
			Stderr: `Out of memory: 1 job
  big: used more than 2 GiB
[r]etry with 1.5x memory, another <factor>, [s]kip [r]: "0.5" is not a valid answer
[r]etry with 1.5x memory, another <factor>, [s]kip [r]: Out of time: 1 job
  slow: its hour was up
[r]etry with 1.5x runtime, another <factor>, [s]kip [r]: Lost with their node or allocation: 1 job
  lost: node n1 failed
[r]etry, [s]kip [r]: Failed for other reasons: 1 job
  odd: exit code 1
[r]etry, [s]kip [s]: "what" is not a valid answer
[r]etry, [s]kip [s]: Repeat 2 jobs? [y/N] `,
			Requests: []string{
				proposed,
				live,
				`POST /workflows/12/recover {"memory_multiplier":2.5,"runtime_multiplier":1.5,"skip":["timeout","unknown"],"run_id":3,"jobs":[{"job_id":41,"status":"failed"},{"job_id":43,"status":"failed"}]}`,
				`POST /events {"workflow_id":12,"timestamp":0,"data":{"category":"recovery","event_type":"recovery","result":{"oom_fixed":1,"timeout_fixed":0,"unknown_retried":0,"outside_retried":1,"other_failures":2,"jobs_to_retry":[41,43],"adjustments":[]}}}`,
			},
		}},
		clitest.Case{Args: "recover 12", Terminal: 80, Stdin: "\n\n\n\nn\n", Routes: quiet, Want: clitest.Result{
			Stderr: `Out of memory: 1 job
  big: used more than 2 GiB
[r]etry with 1.5x memory, another <factor>, [s]kip [r]: Out of time: 1 job
  slow: its hour was up
[r]etry with 1.5x runtime, another <factor>, [s]kip [r]: Lost with their node or allocation: 1 job
  lost: node n1 failed
[r]etry, [s]kip [r]: Failed for other reasons: 1 job
  odd: exit code 1
[r]etry, [s]kip [s]: Repeat 3 jobs? [y/N] Nothing was done.
`,
			Requests: []string{proposed},
		}},
		clitest.Case{Args: "recover 12", Terminal: 80, Stdin: "r\n", Routes: quiet, Want: clitest.Result{
			Stderr: `Out of memory: 1 job
  big: used more than 2 GiB
[r]etry with 1.5x memory, another <factor>, [s]kip [r]: Out of time: 1 job
  slow: its hour was up
[r]etry with 1.5x runtime, another <factor>, [s]kip [r]: 
Nothing was done.
`,
			Requests: []string{proposed},
		}},
		clitest.Case{Args: "recover 12", Terminal: 80, Interrupt: "[r]: ", Routes: quiet, Want: clitest.Result{
			Status: cli.ExitInterrupted,
			Stderr: `Out of memory: 1 job
  big: used more than 2 GiB
[r]etry with 1.5x memory, another <factor>, [s]kip [r]: 
error: interrupted
`,
			Requests: []string{proposed},
		}},
	)
}

// TestRecoverUnderSlurm: a workflow that ran under Slurm is submitted again.
func TestRecoverUnderSlurm(t *testing.T) {
	planned := api.Regeneration{
		WorkflowID: 12, PendingJobs: 3, SiteName: "mine", SiteTitle: "Mine", Warnings: []string{"job big waits"},
		Schedulers: []api.PlannedScheduler{{Name: "short_regen", Account: "ours", Partition: "short", Walltime: "01:00:00", Nodes: 1, NumAllocations: 2, JobIDs: []int64{41, 42}, IsNew: true}},
	}
	submitted := planned
	submitted.Submission = &api.SchedulePlan{WorkflowID: 12, AutoSchedule: true, RequestsMore: true, Requested: []api.Allocation{{SlurmJobID: 812}}}
	const regenerate, startRun = "POST /workflows/12/regenerate", "POST /workflows/12/start_run"
	routes := quiet.With(clitest.Routes{
		askRecover: {Body: proposal(true)}, regenerate: {Body: submitted},
		"GET /workflows/12": {Body: `{"id":12,"name":"w","user":"ann","submission_directory":"$DIR"}`},
		startRun:            {Body: api.RunStart{WorkflowID: 12, RunID: 2, Reason: "run 2 has already started"}},
	})
	clitest.Check(t, New,
		clitest.Case{Args: "recover 12 --dry-run --partition short --walltime 1:00:00", Routes: routes, Want: clitest.Result{
			Stdout: repeated + othersLeft + changed + `short_regen (new): 2 jobs for 01:00:00 in partition short; 2 allocations are missing
Warning: job big waits
Nothing was changed: this was a dry run.
`,
			Requests: []string{
				proposed,
				`POST /workflows/12/regenerate {"partition":"short","walltime_seconds":3600,"group_by":"partition","walltime_strategy":"max-job-runtime","walltime_multiplier":1.5,"include_job_ids":[41,42,43],"dry_run":true,"ignore_live":true}`,
			},
		}},
		clitest.Case{Args: "recover 12 --no-auto-schedule", Routes: routes, Want: clitest.Result{
			Stdout: repeated + othersLeft + changed + `short_regen (new): 2 jobs for 01:00:00 in partition short; 2 allocations are missing
Warning: job big waits
Requested 1 allocation from Slurm: 812
`,
			Requests: []string{
				proposed,
				live,
				applied,
				"GET /workflows/12",
				startRun + ` {"dry_run":true}`,
				`POST /workflows/12/regenerate {"group_by":"partition","walltime_strategy":"max-job-runtime","walltime_multiplier":1.5,"submit":{"output_dir":"$DIR/torc_output","no_auto_schedule":true,"skip_checks":true},"start_run":true}`,
				`POST /events {"workflow_id":12,"timestamp":0,"data":{"category":"recovery","event_type":"recovery","result":{"oom_fixed":1,"timeout_fixed":1,"unknown_retried":0,"outside_retried":1,"other_failures":1,"jobs_to_retry":[41,42,43],"adjustments":[],"slurm":{"workflow_id":12,"pending_jobs":3,"schedulers_created":[{"name":"short_regen","account":"ours","partition":"short","walltime":"01:00:00","mem":"","nodes":1,"num_allocations":2,"job_count":2,"job_names":null,"has_dependencies":false}],"total_allocations":2,"allocations_submitted":1,"allocations_deferred":1,"live_allocations":0,"warnings":["job big waits"],"submitted":true}}}}`,
			},
		}},
		clitest.Case{Args: "recover 12 -o out", Routes: routes.With(clitest.Routes{regenerate: {Status: 422, Body: `{"error":{"message":"submit workflow 12: no account"}}`}}), Want: clitest.Result{
			Status: cli.ExitUsage,
			Stderr: "error: submit workflow 12: no account\n",
			Requests: []string{
				proposed,
				live,
				applied,
				startRun + ` {"dry_run":true}`,
				`POST /workflows/12/regenerate {"group_by":"partition","walltime_strategy":"max-job-runtime","walltime_multiplier":1.5,"submit":{"output_dir":"$DIR/out","skip_checks":true},"start_run":true}`,
			},
		}},
	)
}
