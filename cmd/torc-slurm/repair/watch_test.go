package repair

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli/clitest"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
)

// polls answers the requests of a watch for the status: one after the other.
func polls(all ...api.WorkflowStatus) clitest.Routes {
	reply := clitest.Reply{Body: all[0]}
	for _, s := range all[1:] {
		reply.Then = append(reply.Then, clitest.Reply{Body: s})
	}
	return clitest.Routes{"GET /workflows/12/status": reply}
}

// said are the lines of a watch.
func said(lines ...string) string {
	var all strings.Builder
	for _, line := range lines {
		all.WriteString(clitest.Now.Format(time.DateTime) + " " + line + "\n")
	}
	return all.String()
}

// ended is a workflow that has, with these numbers of jobs.
func ended(n api.JobCounts) api.WorkflowStatus {
	return api.WorkflowStatus{WorkflowID: 12, IsComplete: true, JobsByStatus: n}
}

func TestWatchRejects(t *testing.T) {
	wrong := func(args string) clitest.Case {
		return clitest.Case{Args: args, Want: clitest.Result{Status: cli.ExitUsage, Stderr: "error: intervals and thresholds must be greater than 0\n"}}
	}
	clitest.Check(t, NewWatch,
		wrong("watch 12 -p 0"),
		wrong("watch 12 --auto-schedule --auto-schedule-threshold 0"),
		wrong("watch 12 --auto-schedule-stranded-timeout -1"),
		clitest.Case{Args: "watch 12 --memory-multiplier 0", Want: clitest.Result{Status: cli.ExitUsage, Stderr: "error: a multiplier must be 1 or more: less would not suffice again\n"}},
		clitest.Case{Args: "watch 12 --auto-schedule --no-auto-schedule", Want: clitest.Result{
			Status: cli.ExitUsage,
			Stderr: "error: if any flags in the group [auto-schedule no-auto-schedule] are set none of the others can be; [auto-schedule no-auto-schedule] were all set\n",
		}},
		clitest.Case{Args: "watch 12 -o taken", Files: map[string]string{"taken": "a file"}, Want: clitest.Result{
			Status: cli.ExitRefused,
			Stderr: `error: cannot write to the output directory $DIR/taken: mkdir $DIR/taken: not a directory
hint: choose another one with --output-dir
`,
		}},
	)
}

// TestWatch: what is told, and the exit status, follow from how the workflow ends.
func TestWatch(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	busy := api.WorkflowStatus{WorkflowID: 12, ActiveComputeNodes: 1, JobsByStatus: api.JobCounts{Running: 1, Blocked: 1}}
	verdict := func(s api.WorkflowStatus, v string) api.WorkflowStatus { s.Verdict = v; return s }
	held := api.WorkflowStatus{WorkflowID: 12, JobsByStatus: api.JobCounts{Ready: 2}, ClaimHolds: []hold.ClaimHold{{Kind: hold.HoldMaxFailures, Reason: "2 jobs failed", SinceMS: 1}}}
	canceled := api.WorkflowStatus{WorkflowID: 12, IsCanceled: true, JobsByStatus: api.JobCounts{Canceled: 2}}
	log := "torc_output/watch_" + host + "_wf12.log"
	clitest.Check(t, NewWatch,
		// Counts are told when they change; what is told is also in the log.
		clitest.Case{Args: "watch 12 -p 0.001", Routes: polls(busy, busy, ended(api.JobCounts{Completed: 2})), Read: []string{log}, Want: clitest.Result{
			Stderr: said(
				"1 running, 1 blocked; 0 active, 0 pending allocations; 1 runner",
				"2 completed; 0 active, 0 pending allocations; 0 runners",
				"Every job completed.",
			),
			Requests: []string{"GET /workflows/12/status", "GET /workflows/12/status", "GET /workflows/12/status"},
			Files: map[string]string{log: said(
				"1 running, 1 blocked; 0 active, 0 pending allocations; 1 runner",
				"2 completed; 0 active, 0 pending allocations; 0 runners",
				"Every job completed.",
			)},
		}},
		clitest.Case{Args: "watch 12 -p 0.001 -s", Routes: polls(busy, busy, ended(api.JobCounts{Completed: 2})), Want: clitest.Result{
			Stderr: said(
				"1 running, 1 blocked; 0 active, 0 pending allocations; 1 runner",
				"1 running, 1 blocked; 0 active, 0 pending allocations; 1 runner",
				"2 completed; 0 active, 0 pending allocations; 0 runners",
				"Every job completed.",
			),
			Requests: []string{"GET /workflows/12/status", "GET /workflows/12/status", "GET /workflows/12/status"},
		}},
		clitest.Case{Args: "watch 12", Routes: polls(ended(api.JobCounts{Completed: 1, Failed: 1, Terminated: 1, Canceled: 1})), Want: clitest.Result{
			Status: cli.ExitFailed,
			Stderr: said(
				"1 completed, 1 failed, 1 terminated, 1 canceled; 0 active, 0 pending allocations; 0 runners",
				"The workflow has ended: 1 failed, 1 terminated, 1 canceled, 0 held.",
			),
			Requests: []string{"GET /workflows/12/status"},
		}},
		clitest.Case{Args: "watch 12", Routes: polls(verdict(ended(api.JobCounts{Completed: 1, Failed: 1}), "completed")), Want: clitest.Result{
			Stderr: said(
				"1 completed, 1 failed; 0 active, 0 pending allocations; 0 runners",
				"The workflow has ended successfully by its success_if.",
			),
			Requests: []string{"GET /workflows/12/status"},
		}},
		clitest.Case{Args: "watch 12", Routes: polls(verdict(ended(api.JobCounts{Completed: 2}), "failed")), Want: clitest.Result{
			Status: cli.ExitFailed,
			Stderr: said(
				"2 completed; 0 active, 0 pending allocations; 0 runners",
				"Every job completed, but the success_if of the workflow does not hold.",
			),
			Requests: []string{"GET /workflows/12/status"},
		}},
		clitest.Case{Args: "watch 12", Routes: polls(canceled), Want: clitest.Result{
			Status: cli.ExitFailed,
			Stderr: said(
				"2 canceled; 0 active, 0 pending allocations; 0 runners",
				"The workflow has ended: 0 failed, 0 terminated, 2 canceled, 0 held.",
			),
			Requests: []string{"GET /workflows/12/status"},
		}},
		// What waits for the user ends the watch.
		clitest.Case{Args: "watch 12", Routes: polls(api.WorkflowStatus{WorkflowID: 12, JobsByStatus: api.JobCounts{PendingFailed: 1, Blocked: 1}}), Want: clitest.Result{
			Status: cli.ExitFailed,
			Stderr: said(
				"1 pending_failed, 1 blocked; 0 active, 0 pending allocations; 0 runners",
				"The workflow has ended: 0 failed, 0 terminated, 0 canceled, 1 held.",
				"Held jobs wait for a decision: `torc-slurm jobs retry` or `torc-slurm jobs fail`.",
			),
			Requests: []string{"GET /workflows/12/status"},
		}},
		clitest.Case{Args: "watch 12", Routes: polls(held), Want: clitest.Result{
			Status: cli.ExitFailed,
			Stderr: said(
				"2 ready; 0 active, 0 pending allocations; 0 runners; claims are held: 2 jobs failed, until somebody lifts it",
				"Claims are held: 2 jobs failed, until somebody lifts it; to continue: torc-slurm workflows resume 12, or torc-slurm workflows update 12 --max-failures N.",
			),
			Requests: []string{"GET /workflows/12/status"},
		}},
	)
}

// TestWatchNeedsWork: a watch does not wait for what nobody will do.
func TestWatchNeedsWork(t *testing.T) {
	const actions = "GET /workflows/12/actions"
	waiting := polls(api.WorkflowStatus{WorkflowID: 12, JobsByStatus: api.JobCounts{Ready: 1}}, ended(api.JobCounts{Completed: 1}))
	clitest.Check(t, NewWatch,
		clitest.Case{Args: "watch 12", Routes: waiting.With(clitest.Routes{actions: {Body: `[]`}, askLive: {Body: `{"items":[]}`}}), Want: clitest.Result{
			Status: cli.ExitFailed,
			Stderr: said(
				"1 ready; 0 active, 0 pending allocations; 0 runners",
			) + "error: nothing works on workflow 12: it has no allocation, and none will be requested\nhint: `torc-slurm submit 12` requests some; --persistent continues anyway\n",
			Requests: []string{"GET /workflows/12/status", "GET /workflows/12/actions", live},
		}},
		clitest.Case{Args: "watch 12 -p 0.001", Routes: waiting.With(clitest.Routes{actions: {Body: `[]`}, askLive: {Body: `{"items":[{"id":7,"workflow_id":12}]}`}}), Want: clitest.Result{
			Stderr: said(
				"1 ready; 0 active, 0 pending allocations; 0 runners",
				"1 completed; 0 active, 0 pending allocations; 0 runners",
				"Every job completed.",
			),
			Requests: []string{
				"GET /workflows/12/status",
				"GET /workflows/12/actions",
				live,
				"GET /workflows/12/status",
			},
		}},
		clitest.Case{
			Args: "watch 12 -p 0.002", Want: clitest.Result{
				Stderr: said(
					"1 ready; 0 active, 0 pending allocations; 0 runners",
					"1 completed; 0 active, 0 pending allocations; 0 runners",
					"Every job completed.",
				),
				Requests: []string{"GET /workflows/12/status", "GET /workflows/12/actions", "GET /workflows/12/status"},
			},
			Routes: waiting.With(clitest.Routes{actions: {Body: `[{"id":3,"workflow_id":12,"trigger_type":"auto_schedule_on_ready_jobs","action_type":"schedule_nodes","action_config":{},"executed":true,"status":"automatic"}]`}}),
		},
		clitest.Case{
			Args: "watch 12 -p 0.003", Want: clitest.Result{
				Status: cli.ExitFailed,
				Stderr: said(
					"1 ready; 0 active, 0 pending allocations; 0 runners",
				) + "error: nothing works on workflow 12: it has no allocation, and none will be requested\nhint: `torc-slurm submit 12` requests some; --persistent continues anyway\n",
				Requests: []string{"GET /workflows/12/status", "GET /workflows/12/actions", live},
			},
			Routes: waiting.With(clitest.Routes{actions: {Body: `[{"id":3,"workflow_id":12,"trigger_type":"on_jobs_ready","action_type":"schedule_nodes","action_config":{},"executed":true,"status":"executed"}]`}, askLive: {Body: `{"items":[]}`}}),
		},
		clitest.Case{Args: "watch 12 -p 0.001 --persistent", Routes: waiting, Want: clitest.Result{
			Stderr: said(
				"1 ready; 0 active, 0 pending allocations; 0 runners",
				"1 completed; 0 active, 0 pending allocations; 0 runners",
				"Every job completed.",
			),
			Requests: []string{"GET /workflows/12/status", "GET /workflows/12/status"},
		}},
	)
}

func TestWatchAutoSchedule(t *testing.T) {
	const submit = "POST /workflows/12/submit"
	routes := polls(ended(api.JobCounts{Completed: 1})).With(clitest.Routes{
		"GET /workflows/12": {Body: `{"id":12,"name":"w","user":"ann","submission_directory":"$DIR"}`},
		submit:              {Body: api.SchedulePlan{WorkflowID: 12, Unfit: []api.UnfitJobs{{Text: "job a needs 9 GPUs"}}}},
	})
	clitest.Check(t, NewWatch,
		clitest.Case{Args: "watch 12 --auto-schedule", Environ: []string{"SBATCH_ACCOUNT=ours"}, Routes: routes, Want: clitest.Result{
			Stderr: said(
				"Never runs: job a needs 9 GPUs",
				"The daemon requests allocations whenever ready jobs have no place, with or without this command.",
				"1 completed; 0 active, 0 pending allocations; 0 runners",
				"Every job completed.",
			),
			Requests: []string{
				"GET /workflows/12",
				`POST /workflows/12/submit {"output_dir":"$DIR/torc_output","account":"ours","auto_schedule":{"min_ready_jobs":5,"max_ready_age":"PT7200S"},"no_auto_schedule":false,"skip_checks":true}`,
				"GET /workflows/12/status",
			},
		}},
		clitest.Case{Args: "watch 12 --auto-schedule --auto-schedule-threshold 2 --auto-schedule-stranded-timeout 0 --partition short -o out", Routes: routes, Want: clitest.Result{
			Stderr: said(
				"Never runs: job a needs 9 GPUs",
				"The daemon requests allocations whenever ready jobs have no place, with or without this command.",
				"1 completed; 0 active, 0 pending allocations; 0 runners",
				"Every job completed.",
			),
			Requests: []string{
				`POST /workflows/12/submit {"output_dir":"$DIR/out","partition":"short","auto_schedule":{"min_ready_jobs":2},"no_auto_schedule":false,"skip_checks":true}`,
				"GET /workflows/12/status",
			},
		}},
		clitest.Case{Args: "watch 12 --auto-schedule -o out", Routes: routes.With(clitest.Routes{submit: {Status: 403, Body: `{"error":{"message":"not yours"}}`}}), Want: clitest.Result{
			Status: cli.ExitRefused,
			Stderr: "error: make the daemon request allocations for workflow 12: not yours\n",
			Requests: []string{
				`POST /workflows/12/submit {"output_dir":"$DIR/out","auto_schedule":{"min_ready_jobs":5,"max_ready_age":"PT7200S"},"no_auto_schedule":false,"skip_checks":true}`,
			},
		}},
	)
}

// TestWatchRecovers: the failed jobs are retried as often as the user wants.
func TestWatchRecovers(t *testing.T) {
	failed := ended(api.JobCounts{Completed: 1, Failed: 1})
	clitest.Check(t, NewWatch,
		clitest.Case{Args: "watch 12 --recover", Routes: quiet.With(polls(failed, ended(api.JobCounts{Completed: 2}))), Want: clitest.Result{
			Stderr: said(
				"1 completed, 1 failed; 0 active, 0 pending allocations; 0 runners",
				"The workflow has ended: 1 failed, 0 terminated, 0 canceled, 0 held.",
				"1 job out of memory: retried",
				"  big (job 41): used more than 2 GiB",
				"1 job out of time: retried",
				"  slow (job 42): its hour was up",
				"1 job lost with their node or allocation: retried",
				"  lost (job 43): node n1 failed",
				"1 job failed for other reasons: left as they are",
				"  odd (job 44): exit code 1",
				"Requirements large: memory 2g to 3g; for 1 job only, others are unchanged",
				"The jobs are ready: `torc-slurm run 12` runs them.",
				"2 completed; 0 active, 0 pending allocations; 0 runners",
				"Every job completed.",
			),
			Requests: []string{
				"GET /workflows/12/status",
				proposed,
				live,
				applied,
				`POST /events {"workflow_id":12,"timestamp":0,"data":{"category":"recovery","event_type":"recovery","result":{"oom_fixed":1,"timeout_fixed":1,"unknown_retried":0,"outside_retried":1,"other_failures":1,"jobs_to_retry":[41,42,43],"adjustments":[]}}}`,
				"GET /workflows/12/status",
			},
		}},
		clitest.Case{Args: "watch 12 -r -m 1", Routes: quiet.With(polls(failed)), Want: clitest.Result{
			Status: cli.ExitFailed,
			Stderr: said(
				"1 completed, 1 failed; 0 active, 0 pending allocations; 0 runners",
				"The workflow has ended: 1 failed, 0 terminated, 0 canceled, 0 held.",
				"1 job out of memory: retried",
				"  big (job 41): used more than 2 GiB",
				"1 job out of time: retried",
				"  slow (job 42): its hour was up",
				"1 job lost with their node or allocation: retried",
				"  lost (job 43): node n1 failed",
				"1 job failed for other reasons: left as they are",
				"  odd (job 44): exit code 1",
				"Requirements large: memory 2g to 3g; for 1 job only, others are unchanged",
				"The jobs are ready: `torc-slurm run 12` runs them.",
				"The workflow has ended: 1 failed, 0 terminated, 0 canceled, 0 held.",
				"The failed jobs were retried 1 time, which is the limit.",
			),
			Requests: []string{
				"GET /workflows/12/status",
				proposed,
				live,
				applied,
				`POST /events {"workflow_id":12,"timestamp":0,"data":{"category":"recovery","event_type":"recovery","result":{"oom_fixed":1,"timeout_fixed":1,"unknown_retried":0,"outside_retried":1,"other_failures":1,"jobs_to_retry":[41,42,43],"adjustments":[]}}}`,
				"GET /workflows/12/status",
			},
		}},
		clitest.Case{Args: "watch 12 -r -m 0", Routes: polls(failed), Want: clitest.Result{
			Status: cli.ExitFailed,
			Stderr: said(
				"1 completed, 1 failed; 0 active, 0 pending allocations; 0 runners",
				"The workflow has ended: 1 failed, 0 terminated, 0 canceled, 0 held.",
				"The failed jobs were retried 0 times, which is the limit.",
			),
			Requests: []string{"GET /workflows/12/status"},
		}},
		clitest.Case{Args: "watch 12 -r", Routes: polls(failed).With(clitest.Routes{askRecover: {Body: api.RecoveryPlan{WorkflowID: 12}}}), Want: clitest.Result{
			Status: cli.ExitFailed,
			Stderr: said(
				"1 completed, 1 failed; 0 active, 0 pending allocations; 0 runners",
				"The workflow has ended: 1 failed, 0 terminated, 0 canceled, 0 held.",
				"The failed jobs cannot be retried: no job of workflow 12 has failed",
			),
			Requests: []string{
				"GET /workflows/12/status",
				proposed,
			},
		}},
	)
}
