package slurmcmd

import (
	"testing"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli/clitest"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

const (
	scheduler3 = `{"id":3,"workflow_id":12,"name":"short","account":"ours","nodes":2,"walltime":"01:00:00","partition":"debug","mem":"4G","extra":"--exclusive"}`
	scheduler4 = `{"id":4,"workflow_id":12,"name":"long","account":"ours","nodes":1,"walltime":"1-00:00:00","serialize_allocations":true}`

	listSchedulers = "GET /slurm_schedulers"
	askSchedulers  = listSchedulers + "?workflow_id=12"
	startRun       = "POST /workflows/12/start_run"
	propose        = startRun + ` {"dry_run":true}`
	getActions     = "GET /workflows/12/actions"
	getWorkflow    = "GET /workflows/12"
)

// wrong is a call that is rejected before the server is asked.
func wrong(args, message string) clitest.Case {
	return clitest.Case{Args: args, Want: clitest.Result{Status: cli.ExitUsage, Stderr: "error: " + message + "\n"}}
}

func TestSchedulers(t *testing.T) {
	const create, get, put, remove = "POST /slurm_schedulers", "GET /slurm_schedulers/3", "PUT /slurm_schedulers/3", "DELETE /slurm_schedulers/3"
	routes := clitest.Routes{create: {Body: scheduler3}, get: {Body: scheduler3}, put: {Body: scheduler3}, remove: {Body: scheduler3}, listSchedulers: {Body: `{"items":[` + scheduler3 + "," + scheduler4 + `]}`}}
	clitest.Check(t, New,
		wrong("slurm create 12", `required flag(s) "account" not set`),
		wrong("slurm create 12 -a ours -W soon", `--walltime "soon" is not a time limit for sbatch, such as 04:00:00 or 2-12:00:00`),
		wrong("slurm create 12 -a ours -N 0", "--nodes 0: the minimum is 1"),
		wrong("slurm update short -a ours", `"short" is not the id of a Slurm scheduler: ids are numbers from 1`),
		clitest.Case{Args: "slurm create 12 -a ours", Routes: routes, Want: clitest.Result{
			Stdout:   "Created Slurm scheduler 3\n",
			Requests: []string{`POST /slurm_schedulers {"workflow_id":12,"account":"ours","nodes":1,"qos":"normal","walltime":"04:00:00"}`},
		}},
		clitest.Case{Args: "slurm create 12 -n short -a ours -g gpu:2 -m 4G -N 2 -p debug -q high -t 10G -W 01:00:00 -e '--exclusive' --serialize-allocations", Routes: routes, Want: clitest.Result{
			Stdout: "Created Slurm scheduler 3\n",
			Requests: []string{
				`POST /slurm_schedulers {"workflow_id":12,"name":"short","account":"ours","gres":"gpu:2","mem":"4G","nodes":2,"partition":"debug","qos":"high","tmp":"10G","walltime":"01:00:00","extra":"--exclusive","serialize_allocations":true}`,
			},
		}},
		// What is not named stays, defaults of a new one do not count.
		clitest.Case{Args: "slurm update 3 -n 4 --serialize-allocations true", Routes: routes, Want: clitest.Result{
			Stdout: "Updated Slurm scheduler 3\n",
			Requests: []string{
				"GET /slurm_schedulers/3",
				`PUT /slurm_schedulers/3 {"id":3,"workflow_id":12,"name":"short","account":"ours","mem":"4G","nodes":4,"partition":"debug","walltime":"01:00:00","extra":"--exclusive","serialize_allocations":true}`,
			},
		}},
		clitest.Case{Args: "slurm get 3", Routes: routes, Want: clitest.Result{
			Stdout: `Workflow:    12
ID:          3
Name:        short
Account:     ours
Nodes:       2
Walltime:    01:00:00
Partition:   debug
Serialized:  no
Memory:      4G
Extra:       --exclusive
`,
			Requests: []string{"GET /slurm_schedulers/3"},
		}},
		clitest.Case{Args: "slurm list 12 -l 2", Routes: routes, Want: clitest.Result{
			Stdout: `╭────┬───────┬─────────┬───────┬────────────┬───────────┬─────┬────────────╮
│ ID │ Name  │ Account │ Nodes │ Walltime   │ Partition │ QOS │ Serialized │
├────┼───────┼─────────┼───────┼────────────┼───────────┼─────┼────────────┤
│ 3  │ short │ ours    │ 2     │ 01:00:00   │ debug     │     │ no         │
│ 4  │ long  │ ours    │ 1     │ 1-00:00:00 │           │     │ yes        │
╰────┴───────┴─────────┴───────┴────────────┴───────────┴─────┴────────────╯
Total: 2 Slurm schedulers
`,
			Requests: []string{"GET /slurm_schedulers?limit=2&workflow_id=12"},
		}},
		clitest.Case{Args: "slurm delete 3 -f json", Routes: routes, Want: clitest.Result{
			Stdout: `{
  "id": 3,
  "workflow_id": 12,
  "name": "short",
  "account": "ours",
  "mem": "4G",
  "nodes": 2,
  "partition": "debug",
  "walltime": "01:00:00",
  "extra": "--exclusive"
}
`,
			Requests: []string{"DELETE /slurm_schedulers/3"},
		}},
	)
}

// ready answers about workflow 12, which has begun.
var ready = clitest.Routes{
	getWorkflow:    {Body: `{"id":12,"name":"w","user":"ann","submission_directory":"$DIR","timestamp":"2026-03-14T08:00:00Z"}`},
	startRun:       {Body: api.RunStart{WorkflowID: 12, RunID: 1, Reason: "run 1 has already started"}},
	getActions:     {Body: `[]`},
	listSchedulers: {Body: `{"items":[` + scheduler3 + "," + scheduler4 + `]}`},
}

// TestSchedule: a number or a scheduler asks for exactly that.
func TestSchedule(t *testing.T) {
	const create = "POST /workflows/12/allocations"
	given := ready.With(clitest.Routes{create: {Body: api.AllocateResponse{Items: []api.Allocation{{SlurmJobID: 812}, {SlurmJobID: 813}}}}})
	only := given.With(clitest.Routes{listSchedulers: {Body: `{"items":[` + scheduler4 + `]}`}})
	clitest.Check(t, New,
		wrong("slurm schedule 12 -n 0", "--num-hpc-jobs 0: the minimum is 1"),
		clitest.Case{Args: "slurm schedule 12 -n 2", Routes: only, Want: clitest.Result{
			Stdout: "Successfully running 2 Slurm jobs: 812, 813\n",
			Requests: []string{
				askSchedulers,
				getWorkflow,
				propose,
				getActions,
				`POST /workflows/12/allocations {"scheduler_config_id":4,"count":2,"output_dir":"$DIR/torc_output"}`,
			},
		}},
		clitest.Case{Args: "slurm schedule 12 -n 2 --scheduler-config-id 3 -m 5 --start-one-worker-per-node --skip-checks -o out", Routes: given, Want: clitest.Result{
			Stdout: "Successfully running 2 Slurm jobs: 812, 813\n",
			Requests: []string{
				askSchedulers,
				propose,
				getActions,
				`POST /workflows/12/allocations {"scheduler_config_id":3,"count":2,"output_dir":"$DIR/out","max_parallel_jobs":5,"start_one_worker_per_node":true,"skip_checks":true}`,
			},
		}},
		clitest.Case{Args: "slurm schedule 12 -n 2", Terminal: 100, Stdin: "4\n", Routes: given, Want: clitest.Result{
			Stdout: "Successfully running 2 Slurm jobs: 812, 813\n",
			Stderr: `╭────┬───────┬─────────┬───────┬────────────┬───────────┬─────┬────────────╮
│ ID │ Name  │ Account │ Nodes │ Walltime   │ Partition │ QOS │ Serialized │
├────┼───────┼─────────┼───────┼────────────┼───────────┼─────┼────────────┤
│ 3  │ short │ ours    │ 2     │ 01:00:00   │ debug     │     │ no         │
│ 4  │ long  │ ours    │ 1     │ 1-00:00:00 │           │     │ yes        │
╰────┴───────┴─────────┴───────┴────────────┴───────────┴─────┴────────────╯
Scheduler ID: `,
			Requests: []string{
				askSchedulers,
				getWorkflow,
				propose,
				getActions,
				`POST /workflows/12/allocations {"scheduler_config_id":4,"count":2,"output_dir":"$DIR/torc_output"}`,
			},
		}},
		clitest.Case{Args: "slurm schedule 12 -n 2", Terminal: 60, Interrupt: "Scheduler ID: ", Routes: given, Want: clitest.Result{
			Status: cli.ExitInterrupted,
			Stderr: `╭────┬───────┬─────────┬───────┬──────────┬──────────┬─────┬──────────╮
│ ID │ Name  │ Account │ Nodes │ Walltime │ Partiti… │ QOS │ Seriali… │
├────┼───────┼─────────┼───────┼──────────┼──────────┼─────┼──────────┤
│ 3  │ short │ ours    │ 2     │ 01:00:00 │ debug    │     │ no       │
│ 4  │ long  │ ours    │ 1     │ 1-00:00… │          │     │ yes      │
╰────┴───────┴─────────┴───────┴──────────┴──────────┴─────┴──────────╯
Scheduler ID: 
error: interrupted
`,
			Requests: []string{askSchedulers},
		}},
		clitest.Case{Args: "slurm schedule-nodes 12 -n 2", Routes: given, Want: clitest.Result{
			Status:   cli.ExitUsage,
			Stderr:   "error: workflow 12 has 2 Slurm schedulers: 3 (short), 4 (long); choose one with --scheduler-config-id\n",
			Requests: []string{askSchedulers},
		}},
		clitest.Case{Args: "slurm schedule 12 --scheduler-config-id 9", Routes: given, Want: clitest.Result{
			Status: 3,
			Stderr: "error: workflow 12 has no Slurm scheduler 9\n" +
				"hint: `torc-slurm slurm list 12` lists them\n",
			Requests: []string{askSchedulers},
		}},
		clitest.Case{Args: "slurm schedule 12 -n 1", Routes: given.With(clitest.Routes{listSchedulers: {Body: `{"items":[]}`}}), Want: clitest.Result{
			Status: 3,
			Stderr: "error: workflow 12 has no Slurm scheduler\n" +
				"hint: `torc-slurm slurm regenerate 12` creates schedulers for its jobs, `torc-slurm slurm create 12` a single one\n",
			Requests: []string{askSchedulers},
		}},
		clitest.Case{Args: "slurm schedule 12 -n 2 --scheduler-config-id 4 --dry-run", Routes: given.With(clitest.Routes{create: {Body: api.AllocateResponse{
			Items: []api.Allocation{}, Proposed: &api.PlannedAllocations{Pool: "long", Count: 2}, NodeSeconds: 172800,
		}}}), Want: clitest.Result{
			Stdout: "Would request 2 allocations of scheduler long\nAt most 48.0 node-hours\n",
			Requests: []string{
				askSchedulers,
				getWorkflow,
				`POST /workflows/12/allocations {"scheduler_config_id":4,"count":2,"output_dir":"$DIR/torc_output","dry_run":true}`,
			},
		}},
		// Slurm gives fewer, or none.
		clitest.Case{Args: "slurm schedule 12 -n 3", Routes: only.With(clitest.Routes{create: {Body: api.AllocateResponse{Items: []api.Allocation{{SlurmJobID: 812}}, Rejected: "the limit of jobs"}}}), Want: clitest.Result{
			Status: cli.ExitFailed,
			Stdout: "Successfully running 1 Slurm job: 812\n",
			Stderr: "error: Slurm rejected further requests: the limit of jobs\n",
			Requests: []string{
				askSchedulers,
				getWorkflow,
				propose,
				getActions,
				`POST /workflows/12/allocations {"scheduler_config_id":4,"count":3,"output_dir":"$DIR/torc_output"}`,
			},
		}},
		clitest.Case{Args: "slurm schedule 12 -n 3", Routes: only.With(clitest.Routes{create: {Status: 409, Body: `{"error":{"message":"no such account"}}`}}), Want: clitest.Result{
			Status: cli.ExitFailed,
			Stderr: "error: ask Slurm for allocations of workflow 12: no such account\n",
			Requests: []string{
				askSchedulers,
				getWorkflow,
				propose,
				getActions,
				`POST /workflows/12/allocations {"scheduler_config_id":4,"count":3,"output_dir":"$DIR/torc_output"}`,
			},
		}},
	)
}

// TestCancelAllocation: a dry run says what the cancellation costs.
func TestCancelAllocation(t *testing.T) {
	const (
		cancel   = "POST /allocations/7/cancel"
		proposal = "GET /allocations/7/cancellation"
	)
	clitest.Check(t, New,
		clitest.Case{Args: "slurm cancel 7", Routes: clitest.Routes{cancel: {Body: api.Message{Message: "allocation 7 will be canceled"}}}, Want: clitest.Result{
			Stdout: "allocation 7 will be canceled\n", Requests: []string{cancel},
		}},
		clitest.Case{Args: "slurm cancel 7 --dry-run", Routes: clitest.Routes{proposal: {Body: api.AllocationCancellation{
			AllocationID: 7, State: "active", Jobs: []api.LiveJob{{JobID: 3, Name: "a"}, {JobID: 4, Name: "b"}}, CPUSeconds: 5400, NodeSecondsLeft: 7200,
		}}}, Want: clitest.Result{
			Stdout:   "Would preempt 2 jobs: a, b\nLost, unless the jobs save it: 1.5 CPU hours\nNot used: 2.0 node-hours\n",
			Requests: []string{proposal},
		}},
		clitest.Case{Args: "slurm cancel 7 --dry-run", Routes: clitest.Routes{proposal: {Body: api.AllocationCancellation{AllocationID: 7, IsCanceling: true}}}, Want: clitest.Result{
			Stdout: "Allocation 7 is being canceled already\n", Requests: []string{proposal},
		}},
	)
}

// TestScheduleDemand: without a number, what the jobs need is worked out, told and asked for.
func TestScheduleDemand(t *testing.T) {
	routes := ready.With(clitest.Routes{
		"POST /workflows/12/plan":   {Body: api.SchedulePlan{WorkflowID: 12, Text: []string{"2 jobs: one allocation of debug"}}},
		"POST /workflows/12/submit": {Body: api.SchedulePlan{WorkflowID: 12, AutoSchedule: true, RequestsMore: true, Requested: []api.Allocation{{SlurmJobID: 812}}}},
	})
	clitest.Check(t, New,
		clitest.Case{Args: "slurm schedule 12", Environ: []string{"SBATCH_PARTITION=debug"}, Routes: routes, Want: clitest.Result{
			Stdout: "Successfully submitted workflow 12 (1 allocation)\n" +
				"Requested 1 allocation from Slurm: 812; the daemon requests more when ready jobs do not fit existing allocations.\n" +
				"`torc-slurm status 12` says how far it is, `torc-slurm sq` what Slurm does, `torc-slurm why JOB` why a job is where it is.\n",
			Stderr: "2 jobs: one allocation of debug\n",
			Requests: []string{
				getWorkflow,
				propose,
				getActions,
				`POST /workflows/12/plan {"output_dir":"$DIR/torc_output","partition":"debug","auto_schedule":{},"no_auto_schedule":false}`,
				`POST /workflows/12/submit {"output_dir":"$DIR/torc_output","partition":"debug","auto_schedule":{},"no_auto_schedule":false}`,
			},
		}},
		clitest.Case{Args: "slurm schedule 12 -o out --dry-run", Routes: routes.With(clitest.Routes{
			"POST /workflows/12/plan": {Body: api.SchedulePlan{WorkflowID: 12, Text: []string{"2 jobs: one allocation of debug"}, NodeSeconds: 5400}},
			startRun:                  {Body: api.RunStart{WorkflowID: 12, RunID: 1, Started: true, Ready: 2}},
		}), Want: clitest.Result{
			Stdout: "2 jobs: one allocation of debug\nAt most 1.5 node-hours\n",
			Stderr: "A run would be started, which makes 2 jobs ready. The plan is for the jobs that are ready now.\n",
			Requests: []string{
				propose,
				`POST /workflows/12/plan {"output_dir":"$DIR/out","auto_schedule":{},"no_auto_schedule":false}`,
			},
		}},
		clitest.Case{Args: "slurm schedule 12 -o out", Routes: routes.With(clitest.Routes{"POST /workflows/12/plan": {Status: 409, Body: `{"error":{"message":"there is no Slurm"}}`}}), Want: clitest.Result{
			Status: cli.ExitRefused,
			Stderr: "error: plan allocations of workflow 12: there is no Slurm\n",
			Requests: []string{
				propose,
				getActions,
				`POST /workflows/12/plan {"output_dir":"$DIR/out","auto_schedule":{},"no_auto_schedule":false}`,
			},
		}},
	)
}

func TestRegenerate(t *testing.T) {
	const plainly = `POST /workflows/12/regenerate {"group_by":"partition","walltime_strategy":"max-job-runtime","walltime_multiplier":1.5}`
	const regenerate = "POST /workflows/12/regenerate"
	id := int64(3)
	made := api.Regeneration{
		WorkflowID: 12, PendingJobs: 3, SiteName: "torctest", SiteTitle: "Test", LiveAllocations: 1, TotalAllocations: 3,
		Schedulers: []api.PlannedScheduler{
			{ID: &id, Name: "debug", Account: "ours", Partition: "debug", Walltime: "01:00:00", Nodes: 1, NumAllocations: 2, JobIDs: []int64{41, 42}, JobNames: []string{"a", "b"}, IsNew: true},
			{Name: "debug_2", Account: "ours", Partition: "debug", Walltime: "02:00:00", Nodes: 1, NumAllocations: 1, JobIDs: []int64{43}, JobNames: []string{"c"}, HasDependencies: true},
		},
	}
	routes := ready.With(clitest.Routes{regenerate: {Body: made}})
	submitted := func(plan api.SchedulePlan, warnings ...string) clitest.Routes {
		answer := made
		answer.Submission, answer.Warnings = &plan, warnings
		return ready.With(clitest.Routes{regenerate: {Body: answer}})
	}
	const rejected = "no such account"
	const submitting = `POST /workflows/12/regenerate {"group_by":"partition","walltime_strategy":"max-job-runtime","walltime_multiplier":1.5,"submit":{"output_dir":"$DIR/torc_output"},"start_run":true}`
	const once = `POST /workflows/12/regenerate {"group_by":"partition","walltime_strategy":"max-job-runtime","walltime_multiplier":1.5,"submit":{"output_dir":"$DIR/out","no_auto_schedule":true},"start_run":true}`
	clitest.Check(t, New,
		wrong("slurm regenerate 12 --walltime 0", `--walltime "0" is not a time limit for sbatch, such as 04:00:00 or 2-12:00:00`),
		wrong("slurm regenerate 12 --group-by size", "--group-by must be partition or resource-requirements, not \"size\""),
		wrong("slurm regenerate 12 --walltime-strategy long", "--walltime-strategy must be max-job-runtime or max-partition-time, not \"long\""),
		wrong("slurm regenerate 12 --walltime-multiplier 0.5", "--walltime-multiplier must be from 1 to 1000, not 0.5"),
		wrong("slurm regenerate 12 --include-job-ids x", `"x" is not the id of a job: ids are numbers from 1`),
		clitest.Case{Args: "slurm regenerate 12 --profile nowhere", Want: clitest.Result{
			Status: 3,
			Stderr: `error: there is no HPC profile nowhere
hint: known profiles: dane, kestrel
`,
		}},
		// The daemon's site counts where none is known here; if it has none either, that of here is the error.
		clitest.Case{
			Args:   "slurm regenerate 12 --dry-run --partition debug --walltime 2:00:00 --group-by resource-requirements --include-job-ids 41,42 --single-allocation",
			Routes: routes, Want: clitest.Result{
				Stdout: `debug (new): 2 jobs for 01:00:00 in partition debug; 2 allocations are missing
debug_2 (existing): 1 job for 02:00:00 in partition debug; 1 allocation is missing
1 allocation exists already
Nothing was changed: this was a dry run.
`,
				Requests: []string{
					`POST /workflows/12/regenerate {"partition":"debug","walltime_seconds":7200,"group_by":"resource-requirements","walltime_strategy":"max-job-runtime","walltime_multiplier":1.5,"single_allocation":true,"include_job_ids":[41,42],"dry_run":true}`,
				},
			},
		},
		clitest.Case{Args: "slurm regenerate 12", Routes: routes.With(clitest.Routes{regenerate: {Status: 409, Body: `{"error":{"message":"no site"}}`}}), Want: clitest.Result{
			Status: 3,
			Stderr: "error: no HPC profile specified and no system detected\n" +
				"hint: choose one of `torc-slurm hpc list`, or run it on a host with Slurm\n",
			Requests: []string{plainly},
		}},
		clitest.Case{Args: "slurm regenerate 12 -a ours", Routes: routes.With(clitest.Routes{regenerate: {Status: 422, Body: `{"error":{"message":"no partition takes 9 GPUs"}}`}}), Want: clitest.Result{
			Status: cli.ExitUsage,
			Stderr: "error: no partition takes 9 GPUs\n",
			Requests: []string{
				`POST /workflows/12/regenerate {"account":"ours","group_by":"partition","walltime_strategy":"max-job-runtime","walltime_multiplier":1.5}`,
			},
		}},
		clitest.Case{Args: "slurm regenerate 12 -f json", Routes: routes, Want: clitest.Result{
			Stdout: `{
  "workflow_id": 12,
  "pending_jobs": 3,
  "schedulers_created": [
    {
      "id": 3,
      "name": "debug",
      "account": "ours",
      "partition": "debug",
      "walltime": "01:00:00",
      "mem": "",
      "nodes": 1,
      "num_allocations": 2,
      "job_count": 2,
      "job_names": [
        "a",
        "b"
      ],
      "has_dependencies": false
    },
    {
      "name": "debug_2",
      "account": "ours",
      "partition": "debug",
      "walltime": "02:00:00",
      "mem": "",
      "nodes": 1,
      "num_allocations": 1,
      "job_count": 1,
      "job_names": [
        "c"
      ],
      "has_dependencies": true
    }
  ],
  "total_allocations": 3,
  "allocations_submitted": 0,
  "allocations_deferred": 0,
  "live_allocations": 1,
  "warnings": null,
  "submitted": false
}
`,
			Requests: []string{plainly},
		}},
		clitest.Case{Args: "slurm regenerate 12 --submit", Routes: submitted(api.SchedulePlan{WorkflowID: 12, RequestsMore: true, AutoSchedule: true}), Want: clitest.Result{
			Stdout: `debug (new): 2 jobs for 01:00:00 in partition debug; 2 allocations are missing
debug_2 (existing): 1 job for 02:00:00 in partition debug; 1 allocation is missing
1 allocation exists already
Nothing is requested from Slurm now; the daemon requests allocations when ready jobs do not fit existing ones.
`,
			Requests: []string{
				getWorkflow,
				propose,
				submitting,
			},
		}},
		// With --no-auto-schedule the daemon requests once, and says what it did not request.
		clitest.Case{
			Args: "slurm regenerate 12 --submit --no-auto-schedule -o out",
			Routes: submitted(api.SchedulePlan{WorkflowID: 12, Requested: []api.Allocation{{SlurmJobID: 812}, {SlurmJobID: 813}}},
				"a quota", "nothing asks for the 1 allocation of debug_2"),
			Want: clitest.Result{
				Stdout: `debug (new): 2 jobs for 01:00:00 in partition debug; 2 allocations are missing
debug_2 (existing): 1 job for 02:00:00 in partition debug; 1 allocation is missing
1 allocation exists already
Warning: a quota
Warning: nothing asks for the 1 allocation of debug_2
Requested 2 allocations from Slurm: 812, 813
`,
				Requests: []string{propose, once},
			},
		},
		clitest.Case{
			Args: "slurm regenerate 12 --submit --no-auto-schedule -o out",
			Routes: submitted(api.SchedulePlan{WorkflowID: 12, Rejected: []string{rejected}, NoAllocation: &api.Obstacle{Message: "ask Slurm for allocations of workflow 12: " + rejected}},
				rejected),
			Want: clitest.Result{
				Status:   cli.ExitFailed,
				Stderr:   "error: ask Slurm for allocations of workflow 12: no such account\n",
				Requests: []string{propose, once},
			},
		},
		clitest.Case{Args: "slurm regenerate 12 --submit", Routes: ready.With(clitest.Routes{regenerate: {Body: api.Regeneration{WorkflowID: 12}}}), Want: clitest.Result{
			Stdout:   "Workflow 12 has no job that needs a scheduler.\n",
			Requests: []string{getWorkflow, propose, submitting},
		}},
	)
}

func TestPlanOfWorkflow(t *testing.T) {
	const plan = "POST /workflows/12/allocation_plan"
	advice := api.AllocationPlan{AllocationPlan: compute.AllocationPlan{
		SiteTitle: "Test", Account: "ours", Analysis: compute.WorkAnalysis{TotalInstances: 3, MaxParallelism: 2, Depth: 2},
		Cluster: []compute.PartitionState{{Partition: "debug", Idle: 1, Total: 4, Mixed: 1, Allocated: 2, RunningJobs: 5, PendingJobs: 1, PendingNodes: 2}},
		Recommendations: []compute.AllocationAdvice{{
			Group: "small", JobCount: 3, Allocations: 2, Nodes: 1, Partition: "debug", Walltime: "01:00:00", Reason: "small ones start sooner",
			Estimates: []compute.StartEstimate{{Nodes: 1, WaitSeconds: 90}},
		}},
		NodeSeconds: 7200, Charge: 2, Warnings: []string{"job big fits nowhere"},
	}}
	compared := api.AllocationPlan{AllocationPlan: compute.AllocationPlan{SiteTitle: "Test", Account: "ours", Analysis: compute.WorkAnalysis{TotalInstances: 3}}, Choices: []api.AllocationChoice{
		{Text: "2 allocations in partition debug", Allocations: 2, StartSeconds: 10, CompletionSeconds: 610, CPUHours: 1.4, IdleShare: 0.03, Chosen: true, Reason: "it uses least of those that end the jobs soonest"},
		{Text: "4 allocations in partition debug", Allocations: 4, StartSeconds: 10, CompletionSeconds: 310, CPUHours: 1.5, IdleShare: 0.05, Reason: "ends the jobs 5m sooner for 0.1 more CPU hours"},
	}}
	clitest.Check(t, New,
		clitest.Case{Args: "slurm plan 12 --offline -p debug", Routes: clitest.Routes{plan: {Body: advice}}, Want: clitest.Result{
			Stdout: `3 jobs on Test, account ours: at most 2 at the same time, 2 steps in sequence
Partition debug: 1 of 4 nodes idle, 1 mixed, 2 allocated, 0 down; 5 jobs run, 1 wait for 2 nodes
small: 3 jobs for 2 allocations of 1 node in partition debug, 01:00:00: small ones start sooner
  Slurm would start 1 node in 1:30
Cost: at most 2.0 node-hours, for which the site charges 2.0
Warning: job big fits nowhere
`,
			Requests: []string{
				`POST /workflows/12/allocation_plan {"partition":"debug","group_by":"partition","walltime_strategy":"max-job-runtime","walltime_multiplier":1.5,"offline":true}`,
			},
		}},
		clitest.Case{Args: "slurm plan 12 --prefer cost", Routes: clitest.Routes{plan: {Body: compared}}, Want: clitest.Result{
			Stdout: `3 jobs on Test, account ours: at most 0 at the same time, 0 steps in sequence
Chosen: 2 allocations in partition debug
  starts in about 10s, jobs end in about 10m, 1.4 CPU hours, 3 % idle: it uses least of those that end the jobs soonest
Instead of: 4 allocations in partition debug
  starts in about 10s, jobs end in about 5m10s, 1.5 CPU hours, 5 % idle: ends the jobs 5m sooner for 0.1 more CPU hours
Cost: at most 0.0 node-hours, for which the site charges 0.0
`,
			Requests: []string{
				`POST /workflows/12/allocation_plan {"group_by":"partition","walltime_strategy":"max-job-runtime","walltime_multiplier":1.5,"prefer":"cost"}`,
			},
		}},
		clitest.Case{Args: "slurm plan 12", Routes: clitest.Routes{plan: {Status: 409, Body: `{"error":{"message":"no site"}}`}}, Want: clitest.Result{
			Status: 3,
			Stderr: "error: no HPC profile specified and no system detected\n" +
				"hint: choose one of `torc-slurm hpc list`, or run it on a host with Slurm\n",
			Requests: []string{
				`POST /workflows/12/allocation_plan {"group_by":"partition","walltime_strategy":"max-job-runtime","walltime_multiplier":1.5}`,
			},
		}},
		clitest.Case{Args: "slurm plan away.yaml", Want: clitest.Result{Status: 3, Stderr: "error: there is no file away.yaml\n"}},
	)
}
