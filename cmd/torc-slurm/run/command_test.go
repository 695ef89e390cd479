package run

import (
	"testing"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli/clitest"
)

// wrong is a call that is rejected before the server is called.
func wrong(args, message string) clitest.Case {
	return clitest.Case{Args: args, Want: clitest.Result{Status: cli.ExitUsage, Stderr: "error: " + message + "\n"}}
}

func TestRunRejects(t *testing.T) {
	const get = "GET /workflows/12"
	clitest.Check(t, New,
		wrong("run 12 --num-cpus -1", "the numbers of jobs, CPUs and GPUs and the memory cannot be negative"),
		wrong("run 12 --time-limit 2", `--time-limit "2" is not a duration such as 30m, 2h, 01:30:00, 1d or PT30M`),
		wrong("run 12 --time-limit PT0S", `--time-limit "PT0S" is not a duration such as 30m, 2h, 01:30:00, 1d or PT30M`),
		wrong("run 12 --end-time noon", `"noon" is not a time such as 2027-01-31T18:00:00Z`),
		wrong("run 12 --end-time 2026-03-14T12:00:00Z", "--end-time 2026-03-14T12:00:00Z is in the past"),
		clitest.Case{Args: "run away.yml2", Want: clitest.Result{Status: 3, Stderr: "error: \"away.yml2\" is neither a file nor the id of a workflow\n"}},
		clitest.Case{
			Args: "run w.yaml", Files: map[string]string{"w.yaml": "name: w\njobs: [{name: a, command: cat x, input_files: [x]}]\nfiles: [{name: x, path: x.txt}]\n"},
			Want: clitest.Result{
				Status: cli.ExitRefused,
				Stderr: "error: jobs read files that do not exist: x.txt\n" +
					"hint: no remaining job writes them; relative paths start at the folder where the workflow was submitted\n",
			},
		},
		clitest.Case{
			Args: "run w.yaml -o taken", Files: map[string]string{"taken": "", "w.yaml": "name: w\njobs: [{name: a, command: echo}]\n"},
			Want: clitest.Result{
				Status: cli.ExitRefused,
				Stderr: "error: cannot write to the output directory $DIR/taken: mkdir $DIR/taken: not a directory\n" +
					"hint: choose another one with --output-dir\n",
			},
		},
		clitest.Case{Args: "run 12", Routes: clitest.Routes{get: {Body: `{"id":12,"name":"w","user":"ann","submission_directory":"/nonexistent/folder"}`}}, Want: clitest.Result{
			Status: cli.ExitRefused,
			Stderr: "error: the jobs of workflow 12 run in /nonexistent/folder, where it was submitted, but this host does not have that folder\n" +
				"hint: run the command on a host that has the folder, or create it again\n",
			Requests: []string{get},
		}},
	)
}

// TestRunOfEndedWorkflow: nothing runs again. The report says how the workflow ended, and so
// does the exit status, unless --exit-zero is set.
func TestRunOfEndedWorkflow(t *testing.T) {
	rejection := clitest.Reply{Status: 409, Body: `{"error":{"message":"workflow 12 has ended"}}`}
	status := api.WorkflowStatus{WorkflowID: 12, WorkflowName: "w", RunID: 2, TotalJobs: 2, JobsByStatus: api.JobCounts{Completed: 1, Failed: 1}, IsComplete: true}
	routes := clitest.Routes{
		"GET /workflows/12":                               {Body: `{"id":12,"name":"w","user":"ann","submission_directory":"$DIR"}`},
		"POST /workflows/12/start_run":                    rejection,
		"GET /workflows/12/status":                        {Body: status},
		"GET /jobs":                                       {Body: `{"items":[]}`},
		"GET /jobs?limit=10&status=failed&workflow_id=12": {Body: `{"items":[{"id":7,"workflow_id":12,"name":"a","command":"false","status":"failed"}]}`},
		"GET /jobs/7/attempts":                            {Body: `{"attempts":[{"run_id":2,"attempt_id":1,"return_code":1,"cause":"exit","cause_text":"exit code 1"}]}`},
		"GET /results":                                    {Body: `{"items":[]}`},
		"GET /events":                                     {Body: `{"items":[]}`},
	}
	const report = `
Workflow 12 failed (w), run 2: 1 completed, 1 failed of 2 jobs in 0.0 s
Failed jobs:
  a (job 7, attempt 1): exit code 1
Next:
  torc-slurm why 7
  torc-slurm logs show 7
  torc-slurm reset --failed-only 12
  torc-slurm run 12
`
	for args, want := range map[string]int{"run 12": cli.ExitFailed, "run 12 --exit-zero": 0} {
		got := clitest.Run(t, New, clitest.Case{Args: args, Routes: routes})
		if got.Status != want || got.Stdout != report || got.Stderr != "Workflow 12 has ended; `torc-slurm reset 12` makes it runnable again.\n" {
			t.Errorf("%s: %+v", args, got)
		}
	}
	canceled := status
	canceled.IsCanceled = true
	got := clitest.Run(t, New, clitest.Case{Args: "run 12", Routes: routes.With(clitest.Routes{"GET /workflows/12/status": {Body: canceled}})})
	if got.Status != cli.ExitRefused || got.Stderr != "error: workflow 12 has ended\n" {
		t.Errorf("a canceled workflow: %+v", got)
	}
}

func TestExecRejects(t *testing.T) {
	clitest.Check(t, NewExec,
		wrong("exec", "there is no command: write it after exec, or use -c or -C"),
		wrong("exec -c ./sim 1 2", `-c takes one word, and "1" is another: write -c './sim 1 2', or no -c`),
		wrong("exec --quiet --tag ./sim ::: 1", "--group, --line-buffer and --quiet exclude one another, and --tag needs output"),
		wrong("exec --halt now,fail=0 ./sim ::: 1", `--halt "now,fail=0" is not never, soon,fail=N, now,fail=N or one of these with N%, for example now,fail=1`),
		wrong("exec -c true --param i", `--param "i" is not NAME=VALUES, for example i=1:100`),
		wrong("exec -c true --param i=1 --param i=2", "duplicate --param i"),
		wrong("exec -c true --link all", `--link must be product or zip, not "all"`),
		wrong("exec -c true --monitor always", `--monitor must be off, summary or time-series, not "always"`),
		wrong("exec -c true --monitor-compute-node always", `--monitor-compute-node must be off, summary or time-series, not "always"`),
		wrong("exec -c true --generate-plots", "--generate-plots needs --monitor or --monitor-compute-node time-series"),
		wrong("exec -c true -i 0", "--sample-interval-seconds 0: the minimum is 1"),
		wrong("exec --param i=[] -- ./sim {i}", "the parameters have no values, so there is nothing to run"),
		wrong("exec --param i=5:1:0 -- ./sim {i}", "the step of a range cannot be 0 (use a step such as 1 or -1)"),
		clitest.Case{Args: "exec w.yaml", Files: map[string]string{"w.yaml": "name: w\n"}, Want: clitest.Result{
			Status: cli.ExitUsage, Stderr: "error: exec takes commands; did you mean `torc-slurm run w.yaml`?\n",
		}},
	)
}

// TestExecDryRun prints the jobs without a server.
func TestExecDryRun(t *testing.T) {
	clitest.Check(t, NewExec, clitest.Case{
		Args: `exec --dry-run --name two --monitor off --stdio no-stderr --param i=1:2 -- echo "a b" {i}`,
		Want: clitest.Result{Stdout: `{
  "name": "two",
  "user": "ann",
  "jobs": [
    {
      "name": "job_1",
      "command": "echo 'a b' '1'"
    },
    {
      "name": "job_2",
      "command": "echo 'a b' '2'"
    }
  ],
  "resource_monitor": {
    "granularity": "summary",
    "sample_interval_seconds": 10,
    "flush_interval_seconds": 300,
    "jobs": {
      "granularity": "summary"
    }
  },
  "execution_config": {
    "stdio": {
      "mode": "no_stderr"
    }
  },
  "compute_node_wait_for_new_jobs_seconds": 90
}
`},
	})
}
