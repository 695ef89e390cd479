package workflows

import (
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli/clitest"
)

const (
	startInit = "POST /workflows/12/initialize_jobs"
	getTask   = "GET /tasks/5"
	resetAll  = "POST /workflows/12/reset"

	initTask = `{"id":5,"workflow_id":12,"operation":"initialize_jobs","status":"queued"}`
	initDone = `{"id":5,"workflow_id":12,"operation":"initialize_jobs","status":"succeeded"}`
)

// threeFiles answers about workflow 12, whose job 41 reads in.csv, which no job writes,
// and writes out.csv, which job 42 reads.
var threeFiles = clitest.Routes{
	getSweep:     {Body: sweep},
	"GET /files": {Body: `{"items":[{"id":7,"workflow_id":12,"name":"in","path":"in.csv"},{"id":8,"workflow_id":12,"name":"out","path":"out.csv"}]}`},
	"GET /files?is_output=true&workflow_id=12":  {Body: `{"items":[{"id":8,"workflow_id":12,"name":"out","path":"out.csv"}]}`},
	"GET /workflows/12/required_existing_files": {Body: `{"files":[7]}`},
	resetAll:  {Body: `{"workflow_id":12,"run_id":3,"jobs":2,"cpu_seconds":7200}`},
	startInit: {Body: initTask},
	getTask:   {Body: initDone},
	getStatus: {Body: `{"workflow_id":12,"run_id":3,"jobs_by_status":{"ready":1,"blocked":1}}`},
}

// filesAsked are the requests that every initialization begins with.
var filesAsked = []string{getSweep, "GET /files?is_output=true&workflow_id=12", "GET /workflows/12/required_existing_files", "GET /files?workflow_id=12"}

// modified matches the modification times in requests.
var modified = regexp.MustCompile(`"st_mtime":[0-9.]+`)

// checkTimes checks a case whose requests have modification times; each is 1 in the wanted
// result.
func checkTimes(t *testing.T, c clitest.Case) {
	t.Helper()
	got := clitest.Run(t, New, c)
	for i, r := range got.Requests {
		got.Requests[i] = modified.ReplaceAllString(r, `"st_mtime":1`)
	}
	if diff := cmp.Diff(c.Want, got, cmpopts.IgnoreFields(clitest.Result{}, "Files")); diff != "" {
		t.Errorf("%s (-want +got):\n%s", c.Args, diff)
	}
}

func TestInitDryRun(t *testing.T) {
	input := map[string]string{"in.csv": "1"}
	both := map[string]string{"in.csv": "1", "out.csv": "2"}
	proposed := func(files string) []string {
		return slices.Concat(filesAsked, []string{resetAll + ` {"dry_run":true,"force":true,"run_id":2,"files":` + files + "}"})
	}
	checkTimes(t, clitest.Case{Args: "workflows init 12 --dry-run", Files: input, Routes: threeFiles, Want: clitest.Result{
		Stdout: "Workflow 12 can be initialized: all input files exist, and no output file does\n" +
			"2 jobs would be reset; their run may use up to 2.0 CPU hours\n",
		Requests: proposed(`[{"file_id":7,"st_mtime":1},{"file_id":8}]`),
	}})
	checkTimes(t, clitest.Case{Args: "workflows init 12 --dry-run", Files: map[string]string{"out.csv": "2"}, Routes: threeFiles, Want: clitest.Result{
		Stdout: `missing input file:    in.csv
existing output file:  out.csv
2 jobs would be reset; their run may use up to 2.0 CPU hours
`,
		Requests: proposed(`[{"file_id":7},{"file_id":8,"st_mtime":1}]`),
	}})
	checkTimes(t, clitest.Case{Args: "workflows init 12 --dry-run -f json", Files: both, Routes: threeFiles, Want: clitest.Result{
		Stdout: `{
  "workflow_id": 12,
  "safe": false,
  "missing_input_files": [],
  "missing_input_file_count": 0,
  "existing_output_files": [
    "out.csv"
  ],
  "existing_output_file_count": 1,
  "jobs": 2,
  "cpu_seconds": 7200
}
`,
		Requests: proposed(`[{"file_id":7,"st_mtime":1},{"file_id":8,"st_mtime":1}]`),
	}})
}

func TestInitChecks(t *testing.T) {
	both := map[string]string{"in.csv": "1", "out.csv": "2"}
	clitest.Check(t, New,
		wrong("workflows init 12 --async --wait-timeout 3", "if any flags in the group [async wait-timeout] are set none of the others can be; [async wait-timeout] were all set"),
		clitest.Case{Args: "workflows init 12 --wait-timeout -1", Want: clitest.Result{Status: cli.ExitUsage, Stderr: "error: --wait-timeout -1: it cannot be negative\n"}},
		clitest.Case{Args: "workflows init 12", Routes: threeFiles, Want: clitest.Result{
			Status: cli.ExitRefused,
			Stderr: `error: 1 input file is missing: in.csv
hint: create them, or continue without them with --force
`,
			Requests: filesAsked,
		}},
		clitest.Case{Args: "workflows init 12", Files: both, Terminal: 80, Stdin: "n\n", Routes: threeFiles, Want: clitest.Result{
			Stderr:   "1 output file exists already (out.csv). Run all jobs of workflow 12 and overwrite them? [y/N] Nothing was done.\n",
			Requests: filesAsked,
		}},
	)
}

// withoutFiles are the answers about a workflow whose jobs read and write no files.
var withoutFiles = threeFiles.With(clitest.Routes{
	"GET /files": {Body: `{"items":[]}`}, "GET /files?is_output=true&workflow_id=12": {Body: `{"items":[]}`}, "GET /workflows/12/required_existing_files": {Body: `{"files":[]}`},
})

func TestInit(t *testing.T) {
	failed := clitest.Routes{getTask: {Body: `{"id":5,"workflow_id":12,"operation":"initialize_jobs","status":"failed","error":"a cycle"}`}}
	clitest.Check(t, New,
		clitest.Case{Args: "workflows init 12", Routes: withoutFiles, Want: clitest.Result{
			Stdout: "Initialized workflow 12 for run 3: 1 ready, 1 blocked, 0 completed before\n",
			Requests: slices.Concat(filesAsked, []string{
				resetAll + ` {"run_id":2}`,
				"POST /workflows/12/initialize_jobs?async=true",
				getTask,
				getStatus,
			}),
		}},
		clitest.Case{Args: "workflows init 12 --async", Routes: withoutFiles, Want: clitest.Result{
			Stdout: "Initialization of workflow 12 was started as task 5\n",
			Stderr: "Next: torc-slurm tasks wait 5\n",
			Requests: slices.Concat(filesAsked, []string{
				resetAll + ` {"run_id":2}`,
				"POST /workflows/12/initialize_jobs?async=true",
			}),
		}},
		clitest.Case{Args: "workflows init 12 --force -f json", Routes: withoutFiles, Want: clitest.Result{
			Stdout: `{
  "status": "success",
  "message": "Initialized workflow 12 for run 3: 1 ready, 1 blocked, 0 completed before",
  "workflow_id": 12,
  "task_id": 5,
  "task_status": "succeeded",
  "task_operation": "initialize_jobs"
}
`,
			Requests: slices.Concat(filesAsked, []string{
				resetAll + ` {"run_id":2,"force":true}`,
				"POST /workflows/12/initialize_jobs?async=true",
				getTask,
				getStatus,
			}),
		}},
		clitest.Case{Args: "workflows init 12 --wait-timeout 60", Routes: withoutFiles.With(failed), Want: clitest.Result{
			Status: cli.ExitFailed,
			Stderr: "error: initialization of workflow 12 failed: a cycle\n",
			Requests: slices.Concat(filesAsked, []string{
				resetAll + ` {"run_id":2}`,
				"POST /workflows/12/initialize_jobs?async=true",
				getTask,
			}),
		}},
	)
}

// TestInitRecordsTimes: the server is told when files were modified, in the request that
// resets the jobs; while something runs, nothing is changed.
func TestInitRecordsTimes(t *testing.T) {
	reset := resetAll + ` {"run_id":2,"files":[{"file_id":7,"st_mtime":1},{"file_id":8,"st_mtime":1}]}`
	const question = "1 output file exists already (out.csv). Run all jobs of workflow 12 and overwrite them? [y/N] "
	both := map[string]string{"in.csv": "1", "out.csv": "2"}
	checkTimes(t, clitest.Case{Args: "workflows init 12", Terminal: 80, Stdin: "y\n", Files: both, Routes: threeFiles, Want: clitest.Result{
		Stdout:   "Initialized workflow 12 for run 3: 1 ready, 1 blocked, 0 completed before\n",
		Stderr:   question,
		Requests: slices.Concat(filesAsked, []string{reset, "POST /workflows/12/initialize_jobs?async=true", getTask, getStatus}),
	}})
	checkTimes(t, clitest.Case{Args: "workflows init 12", Terminal: 80, Stdin: "y\n", Files: both, Routes: threeFiles.With(clitest.Routes{resetAll: refused(409, "a runner is at work")}), Want: clitest.Result{
		Status: cli.ExitRefused, Stderr: question + "error: a runner is at work\n", Requests: slices.Concat(filesAsked, []string{reset}),
	}})
}

// TestReinit: the server names and resets what has changed, in one request each.
func TestReinit(t *testing.T) {
	gone := threeFiles.With(clitest.Routes{
		"GET /files": {Body: `{"items":[{"id":8,"workflow_id":12,"name":"out","path":"out.csv","st_mtime":1700000000}]}`},
		"GET /workflows/12/required_existing_files": {Body: `{"files":[8]}`},
		resetAll: {Body: `{"workflow_id":12,"run_id":3,"jobs":3,"cpu_seconds":3600,"changed_files":["out.csv"],"job_names":["a","b","e"]}`},
	})
	same := withoutFiles.With(clitest.Routes{resetAll: {Body: `{"workflow_id":12,"run_id":3}`}})
	propose := resetAll + ` {"run_id":2,"dry_run":true,"force":true,"changed":true,"files":[{"file_id":8}]}`
	clitest.Check(t, New,
		clitest.Case{Args: "workflows reinit 12 --dry-run", Routes: gone, Want: clitest.Result{
			Stdout: `changed file:        out.csv
runs again:          a
runs again:          b
runs again:          e
3 jobs would run again, with all that depend on them; their run may use up to 1.0 CPU hours
`,
			Requests: slices.Concat(filesAsked, []string{propose}),
		}},
		clitest.Case{Args: "workflows reinit 12 --dry-run -f json", Routes: gone, Want: clitest.Result{
			Stdout: `{
  "workflow_id": 12,
  "safe": true,
  "missing_input_files": [],
  "missing_input_file_count": 0,
  "existing_output_files": [],
  "existing_output_file_count": 0,
  "jobs": 3,
  "cpu_seconds": 3600,
  "changed_files": [
    "out.csv"
  ],
  "reinitialized_jobs": [
    "a",
    "b",
    "e"
  ]
}
`,
			Requests: slices.Concat(filesAsked, []string{propose}),
		}},
		clitest.Case{Args: "workflows reinit 12", Routes: gone, Want: clitest.Result{
			Stdout: "Initialized workflow 12 for run 3: 1 ready, 1 blocked, 0 completed before\n",
			Requests: slices.Concat(filesAsked, []string{
				propose,
				resetAll + ` {"run_id":2,"changed":true,"files":[{"file_id":8}]}`,
				"POST /workflows/12/initialize_jobs?async=true&only_uninitialized=true",
				getTask,
				getStatus,
			}),
		}},
		clitest.Case{Args: "workflows reinit 12 --dry-run", Routes: same, Want: clitest.Result{
			Stdout:   "No input of a job of workflow 12 has changed\n",
			Requests: slices.Concat(filesAsked, []string{resetAll + ` {"run_id":2,"dry_run":true,"force":true,"changed":true}`}),
		}},
		clitest.Case{Args: "workflows reinit 12", Routes: threeFiles.With(clitest.Routes{resetAll: {Body: `{"workflow_id":12,"run_id":3}`}}), Want: clitest.Result{
			Status: cli.ExitRefused,
			Stderr: `error: 1 input file is missing: in.csv
hint: create them, or continue without them with --force
`,
			Requests: slices.Concat(filesAsked, []string{resetAll + ` {"run_id":2,"dry_run":true,"force":true,"changed":true,"files":[{"file_id":7},{"file_id":8}]}`}),
		}},
	)
}
