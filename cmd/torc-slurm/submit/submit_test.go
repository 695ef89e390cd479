package submit

import (
	"slices"
	"strings"
	"testing"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli/clitest"
)

const (
	getWorkflow = "GET /workflows/12"
	startRun    = "POST /workflows/12/start_run"
	propose     = startRun + ` {"dry_run":true}`
	carryOut    = startRun + " {}"
	getActions  = "GET /workflows/12/actions"
	postSubmit  = "POST /workflows/12/submit"

	submitted = "Successfully submitted workflow 12 (1 allocation)\n" +
		"Requested 1 allocation from Slurm: 812; the daemon requests more when ready jobs do not fit existing allocations.\n" +
		"`torc-slurm status 12` says how far it is, `torc-slurm sq` what Slurm does, `torc-slurm why JOB` why a job is where it is.\n"

	oneJob = "name: w\njobs:\n  - name: a\n    command: echo a\n"
)

// slurm is a host with an sbatch.
var slurm = map[string]string{"sbatch": "#!/bin/sh\nexit 1\n"}

// withSbatch names it.
var withSbatch = []string{"TORC_FAKE_SBATCH=$DIR/sbatch"}

// twelve answers about workflow 12, in its first run, whose jobs are ready.
var twelve = clitest.Routes{
	getWorkflow: {Body: `{"id":12,"name":"w","user":"ann","run_id":1,"submission_directory":"$DIR"}`},
	startRun:    {Body: api.RunStart{WorkflowID: 12, RunID: 1, Reason: "run 1 has already started"}},
	getActions:  {Body: `[]`},
	postSubmit:  {Body: api.SchedulePlan{WorkflowID: 12, AutoSchedule: true, RequestsMore: true, Requested: []api.Allocation{{SlurmJobID: 812}}}},
}

func TestSubmitRejects(t *testing.T) {
	clitest.Check(t, New,
		// Without Slurm nothing is made, unless the server is another one.
		clitest.Case{Args: "submit 12", Want: clitest.Result{
			Status: cli.ExitRefused,
			Stderr: "error: there is no Slurm here: exec: \"/nonexistent/sbatch\": stat /nonexistent/sbatch: no such file or directory\n" +
				"hint: submit on a login node of the cluster; `torc-slurm run` runs a workflow on this machine\n",
		}},
		clitest.Case{Args: "submit away.yml2", Files: slurm, Environ: withSbatch, Want: clitest.Result{Status: 3, Stderr: "error: \"away.yml2\" is neither a file nor the id of a workflow\n"}},
		clitest.Case{Args: "submit -o taken 12", Files: map[string]string{"sbatch": "#!/bin/sh", "taken": "a file"}, Environ: withSbatch, Want: clitest.Result{
			Status: cli.ExitRefused,
			Stderr: `error: cannot write to the output directory $DIR/taken: mkdir $DIR/taken: not a directory
hint: choose another one with --output-dir
`,
		}},
		clitest.Case{
			Args: "submit 12", Files: slurm, Environ: withSbatch,
			Routes: twelve.With(clitest.Routes{startRun: {Status: 409, Body: "{\"error\":{\"message\":\"workflow 12 has ended\",\"hint\":\"`torc-slurm reset 12` makes it runnable again\"}}"}}),
			Want: clitest.Result{
				Status:   cli.ExitRefused,
				Stderr:   "error: workflow 12 has ended\nhint: `torc-slurm reset 12` makes it runnable again\n",
				Requests: []string{getWorkflow, propose, carryOut},
			},
		},
		clitest.Case{
			Args: "submit 12 -m 3", Files: slurm, Environ: withSbatch, Want: clitest.Result{
				Status: cli.ExitRefused,
				Stderr: `error: the jobs of workflow 12 run in /nonexistent/folder, where it was submitted, but this host does not have that folder
hint: run the command on a host that has the folder, or create it again
`,
				Requests: []string{getWorkflow},
			},
			Routes: twelve.With(clitest.Routes{getWorkflow: {Body: `{"id":12,"name":"w","user":"ann","submission_directory":"/nonexistent/folder"}`}}),
		},
		clitest.Case{
			Args: "submit 12 -m 4", Files: slurm, Environ: withSbatch, Want: clitest.Result{
				Status: cli.ExitFailed,
				Stderr: "error: no such account\nhint: correct it\n",
				Requests: []string{
					getWorkflow,
					propose,
					getWorkflow,
					`POST /workflows/12/submit {"output_dir":"$DIR/torc_output","max_parallel_jobs":4,"no_auto_schedule":false}`,
				},
			},
			Routes: twelve.With(clitest.Routes{postSubmit: {Body: api.SchedulePlan{WorkflowID: 12, NoAllocation: &api.Obstacle{Message: "no such account", Hint: "correct it"}}}}),
		},
	)
}

func TestSubmit(t *testing.T) {
	clitest.Check(t, New,
		clitest.Case{Args: "submit 12", Files: slurm, Environ: withSbatch, Routes: twelve, Want: clitest.Result{
			Stdout: submitted,
			Requests: []string{
				getWorkflow,
				propose,
				getWorkflow,
				`POST /workflows/12/submit {"output_dir":"$DIR/torc_output","no_auto_schedule":false}`,
			},
		}},
		clitest.Case{
			Args:  "submit 12 -a ours --partition short --qos high -m 3 --prefer time --no-auto-schedule --skip-checks -o out",
			Files: slurm, Environ: append(withSbatch, "SBATCH_QOS=low"), Routes: twelve, Want: clitest.Result{
				Stdout: submitted,
				Requests: []string{
					propose,
					getWorkflow,
					`POST /workflows/12/submit {"output_dir":"$DIR/out","max_parallel_jobs":3,"account":"ours","partition":"short","qos":"high","no_auto_schedule":true,"prefer":"time","skip_checks":true}`,
				},
			},
		},
		clitest.Case{Args: "submit 12 --prefer speed", Files: slurm, Environ: withSbatch, Want: clitest.Result{
			Status: 2, Stderr: "error: invalid argument \"speed\" for \"--prefer\" flag: it is time, balanced or cost; see `torc-slurm submit --help`\n",
		}},
		// Another server may have Slurm where this machine has none.
		clitest.Case{Args: "submit 12 -o out", Environ: []string{"TORC_API_URL=http://elsewhere"}, Routes: twelve, Want: clitest.Result{
			Stdout: submitted,
			Requests: []string{
				propose,
				getWorkflow,
				`POST /workflows/12/submit {"output_dir":"$DIR/out","no_auto_schedule":false}`,
			},
		}},
	)
}

// TestSubmitNew: the workflow of a specification is made, begun and submitted, unless
// files are missing that its jobs read.
func TestSubmitNew(t *testing.T) {
	routes := twelve.With(clitest.Routes{
		startRun: {Body: api.RunStart{WorkflowID: 12, Started: true, RunID: 1}}, "POST /workflows/definition": {Body: `{"workflow_id":12}`},
	})
	got := clitest.Run(t, New, clitest.Case{Args: "submit --resume=never $DIR/w.yaml", Files: map[string]string{"sbatch": "#!/bin/sh", "w.yaml": oneJob}, Environ: withSbatch, Routes: routes})
	var requests []string
	for _, r := range got.Requests {
		requests = append(requests, strings.Fields(r)[0]+" "+strings.Fields(r)[1])
	}
	want := []string{
		"POST /workflows/definition", startRun, postSubmit,
	}
	if got.Status != 0 || got.Stderr != "Created workflow 12\n" || got.Stdout != submitted || !slices.Equal(requests, want) {
		t.Errorf("%+v", got)
	}
	reads := "name: w\nfiles:\n  - {name: in, path: in.csv}\njobs:\n  - {name: a, command: cat in.csv, input_files: [in]}\n"
	clitest.Check(t, New,
		clitest.Case{Args: "submit $DIR/w.yaml", Files: map[string]string{"sbatch": "#!/bin/sh", "w.yaml": reads}, Environ: withSbatch, Want: clitest.Result{
			Status: cli.ExitRefused,
			Stderr: `error: jobs read files that do not exist: in.csv
hint: no remaining job writes them; relative paths start at the folder where the workflow was submitted
`,
		}},
		clitest.Case{Args: "submit -", Stdin: "name: 3\n", Files: slurm, Environ: withSbatch, Want: clitest.Result{
			Status: cli.ExitInvalidSpec,
			Stderr: `<stdin>:1:1: the key "jobs" is missing
  1 | name: 3
    | ^

<stdin>:1:7: name: expected a string, found a whole number "3"
  1 | name: 3
    |       ^
  = put it in quotes: "3"
`,
		}},
	)
}

// TestReview: on a terminal, what a workflow that was run before asks for can be changed.
func TestReview(t *testing.T) {
	const (
		action3 = `{"id":3,"workflow_id":12,"trigger_type":"on_workflow_start","action_type":"schedule_nodes","action_config":{"scheduler_id":2,"num_allocations":2},"status":"pending"}`
		action4 = `{"id":4,"workflow_id":12,"trigger_type":"on_jobs_ready","action_type":"schedule_nodes","action_config":{"scheduler_id":2,"num_allocations":1},"job_ids":[41],"required_triggers":1,"status":"waiting"}`
	)
	again := twelve.With(clitest.Routes{
		getWorkflow:                   {Body: `{"id":12,"name":"w","user":"ann","run_id":2,"submission_directory":"$DIR"}`},
		getActions:                    {Body: "[" + action3 + "," + action4 + "]"},
		"PUT /workflows/12/actions/3": {Body: action3}, "POST /workflows/12/actions/3/claim": {Body: `{"action_id":3,"success":true}`},
	})
	const question = `Will submit now:
╭────┬───────────────────┬───────────┬─────────────┬──────╮
│ ID │ Trigger           │ Scheduler │ Allocations │ Jobs │
├────┼───────────────────┼───────────┼─────────────┼──────┤
│ 3  │ on_workflow_start │ 2         │ 2           │      │
╰────┴───────────────────┴───────────┴─────────────┴──────╯
Will submit later:
╭────┬───────────────┬───────────┬─────────────┬──────╮
│ ID │ Trigger       │ Scheduler │ Allocations │ Jobs │
├────┼───────────────┼───────────┼─────────────┼──────┤
│ 4  │ on_jobs_ready │ 2         │ 1           │ 41   │
╰────┴───────────────┴───────────┴─────────────┴──────╯
[p]roceed, [d]isable <id>, [n]um <id> <count>, [c]ancel: `
	clitest.Check(t, New,
		clitest.Case{Args: "submit 12", Stdin: "p\n", Terminal: 60, Files: slurm, Environ: withSbatch, Routes: again, Want: clitest.Result{
			Stdout: submitted,
			Stderr: question,
			Requests: []string{
				getWorkflow,
				propose,
				getWorkflow,
				getActions,
				`POST /workflows/12/submit {"output_dir":"$DIR/torc_output","no_auto_schedule":false}`,
			},
		}},
		// A number that was changed is put back if nothing is submitted.
		clitest.Case{Args: "submit 12", Stdin: "n 3 5\nc\n", Terminal: 60, Files: slurm, Environ: withSbatch, Routes: again, Want: clitest.Result{
			Stderr: question + question + "Nothing was done.\n",
			Requests: []string{
				getWorkflow,
				propose,
				getWorkflow,
				getActions,
				`PUT /workflows/12/actions/3 {"num_allocations":5}`,
				getActions,
				`PUT /workflows/12/actions/3 {"scheduler_id":2,"num_allocations":2}`,
			},
		}},
		clitest.Case{Args: "submit 12", Stdin: "n 3 5\n", Terminal: 60, Files: slurm, Environ: withSbatch, Routes: again, Want: clitest.Result{
			Stderr: question + question + "\nNothing was done.\n",
			Requests: []string{
				getWorkflow,
				propose,
				getWorkflow,
				getActions,
				`PUT /workflows/12/actions/3 {"num_allocations":5}`,
				getActions,
				`PUT /workflows/12/actions/3 {"scheduler_id":2,"num_allocations":2}`,
			},
		}},
		clitest.Case{Args: "submit 12", Stdin: "d 3\np\n", Terminal: 60, Files: slurm, Environ: withSbatch, Routes: again, Want: clitest.Result{
			Stdout: submitted,
			Stderr: question + question,
			Requests: []string{
				getWorkflow,
				propose,
				getWorkflow,
				getActions,
				"POST /workflows/12/actions/3/claim {}",
				getActions,
				`POST /workflows/12/submit {"output_dir":"$DIR/torc_output","no_auto_schedule":false}`,
			},
		}},
		clitest.Case{Args: "submit 12", Stdin: "\nd x\nd 3x\nn 3\nn 3 -1\nn 3 5x\nd 4\nwhat\nc\n", Terminal: 60, Files: slurm, Environ: withSbatch, Routes: again, Want: clitest.Result{
			Stderr:   question + question + "\"x\" is not an id\n" + question + "\"3x\" is not an id\n" + question + "n needs the id of an action and a number\n" + question + "n needs the id of an action and a number\n" + question + "n needs the id of an action and a number\n" + question + "action 4 is not one of those that submit now\n" + question + "unknown command \"what\"\n" + question + "Nothing was done.\n",
			Requests: []string{getWorkflow, propose, getWorkflow, getActions},
		}},
		clitest.Case{Args: "submit 12", Interrupt: "[c]ancel: ", Terminal: 60, Files: slurm, Environ: withSbatch, Routes: again, Want: clitest.Result{
			Status:   cli.ExitInterrupted,
			Stderr:   question + "\nerror: interrupted\n",
			Requests: []string{getWorkflow, propose, getWorkflow, getActions},
		}},
		clitest.Case{Args: "submit 12 --no-prompts", Terminal: 60, Files: slurm, Environ: withSbatch, Routes: again, Want: clitest.Result{
			Stdout: submitted,
			Requests: []string{
				getWorkflow,
				propose,
				getWorkflow,
				`POST /workflows/12/submit {"output_dir":"$DIR/torc_output","no_auto_schedule":false}`,
			},
		}},
	)
}
