package workflows

import (
	"slices"
	"strings"
	"testing"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli/clitest"
)

const (
	startInit = "POST /workflows/12/initialize_jobs"
	getTask   = "GET /tasks/5"

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
	"PUT /files/7":                        {Body: `{"id":7,"workflow_id":12,"name":"in","path":"in.csv"}`},
	"PUT /files/8":                        {Body: `{"id":8,"workflow_id":12,"name":"out","path":"out.csv"}`},
	"POST /workflows/12/reset_status":     {Body: `{"id":12,"name":"sweep","user":"ann","run_id":3}`},
	"POST /workflows/12/reset_job_status": {Body: `{"workflow_id":12,"updated_count":2}`},
	startInit:                             {Body: initTask},
	getTask:                               {Body: initDone},
	getStatus:                             {Body: `{"workflow_id":12,"run_id":3,"jobs_by_status":{"ready":1,"blocked":1}}`},
}

// filesAsked are the requests that every initialization begins with.
var filesAsked = []string{getSweep, "GET /files?is_output=true&workflow_id=12", "GET /workflows/12/required_existing_files", "GET /files?workflow_id=12"}

func TestInitChecks(t *testing.T) {
	input := map[string]string{"in.csv": "1"}
	both := map[string]string{"in.csv": "1", "out.csv": "2"}
	clitest.Check(t, New,
		wrong("workflows init 12 --async --wait-timeout 3", "if any flags in the group [async wait-timeout] are set none of the others can be; [async wait-timeout] were all set"),
		clitest.Case{Args: "workflows init 12 --wait-timeout -1", Want: clitest.Result{Status: cli.ExitUsage, Stderr: "error: --wait-timeout -1: it cannot be negative\n"}},
		clitest.Case{Args: "workflows init 12 --dry-run", Files: input, Routes: threeFiles, Want: clitest.Result{
			Stdout:   "Workflow 12 can be initialized: all input files are there, and no output file is\n",
			Requests: filesAsked,
		}},
		clitest.Case{Args: "workflows init 12 --dry-run", Files: map[string]string{"out.csv": "2"}, Routes: threeFiles, Want: clitest.Result{
			Stdout: `missing input file:    in.csv
existing output file:  out.csv
`,
			Requests: filesAsked,
		}},
		clitest.Case{Args: "workflows init 12 --dry-run -f json", Files: both, Routes: threeFiles, Want: clitest.Result{
			Stdout: `{
  "workflow_id": 12,
  "safe": false,
  "missing_input_files": [],
  "missing_input_file_count": 0,
  "existing_output_files": [
    "out.csv"
  ],
  "existing_output_file_count": 1
}
`,
			Requests: filesAsked,
		}},
		clitest.Case{Args: "workflows init 12", Routes: threeFiles, Want: clitest.Result{
			Status: cli.ExitRefused,
			Stderr: `error: 1 input file is missing: in.csv
hint: make them, or go on without them with --force
`,
			Requests: filesAsked,
		}},
		clitest.Case{Args: "workflows init 12", Files: both, Terminal: 80, Stdin: "n\n", Routes: threeFiles, Want: clitest.Result{
			Stderr:   "1 output file is already there (out.csv). Run all jobs of workflow 12, over them? [y/N] Nothing was done.\n",
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
				"POST /workflows/12/reset_status?expected_run_id=2",
				"POST /workflows/12/reset_job_status",
				"POST /workflows/12/initialize_jobs?async=true",
				getTask,
				getStatus,
			}),
		}},
		clitest.Case{Args: "workflows init 12 --async", Routes: withoutFiles, Want: clitest.Result{
			Stdout: "Initialization of workflow 12 was started as task 5\n",
			Stderr: "Next: torc-slurm tasks wait 5\n",
			Requests: slices.Concat(filesAsked, []string{
				"POST /workflows/12/reset_status?expected_run_id=2",
				"POST /workflows/12/reset_job_status",
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
				"POST /workflows/12/reset_status?expected_run_id=2&force=true",
				"POST /workflows/12/reset_job_status",
				"POST /workflows/12/initialize_jobs?async=true",
				getTask,
				getStatus,
			}),
		}},
		clitest.Case{Args: "workflows init 12 --wait-timeout 60", Routes: withoutFiles.With(failed), Want: clitest.Result{
			Status: cli.ExitFailed,
			Stderr: "error: initialization of workflow 12 failed: a cycle\n",
			Requests: slices.Concat(filesAsked, []string{
				"POST /workflows/12/reset_status?expected_run_id=2",
				"POST /workflows/12/reset_job_status",
				"POST /workflows/12/initialize_jobs?async=true",
				getTask,
			}),
		}},
		// While something runs, nothing is reset, and no time is recorded.
		clitest.Case{Args: "workflows init 12", Files: map[string]string{"in.csv": "1"}, Routes: threeFiles.With(clitest.Routes{"POST /workflows/12/reset_status": refused(409, "a runner is at work")}), Want: clitest.Result{
			Status: cli.ExitRefused,
			Stderr: "error: a runner is at work\n",
			Requests: slices.Concat(filesAsked, []string{
				"POST /workflows/12/reset_status?expected_run_id=2",
			}),
		}},
	)
}

// TestInitRecordsTimes: the server learns when files were changed; over output files jobs
// run only if the user says so.
func TestInitRecordsTimes(t *testing.T) {
	got := clitest.Run(t, New, clitest.Case{
		Args: "workflows init 12", Terminal: 80, Stdin: "y\n", Files: map[string]string{"in.csv": "1", "out.csv": "2"}, Routes: threeFiles,
	})
	var updated []string
	for _, r := range got.Requests {
		if name, body, _ := strings.Cut(r, " {"); strings.HasPrefix(name, "PUT") && strings.Contains(body, `"st_mtime":`) {
			updated = append(updated, name)
		}
	}
	if want := []string{"PUT /files/7", "PUT /files/8"}; got.Status != 0 || !slices.Equal(updated, want) {
		t.Errorf("with times: %q; %+v", updated, got)
	}
}

// TestReinit: what reads something that has changed runs again, and nothing else.
func TestReinit(t *testing.T) {
	const changes = "POST /workflows/12/process_changed_job_inputs"
	// Job 41 has completed, and its output is gone; 42 reads that, 43 nothing.
	gone := threeFiles.With(clitest.Routes{
		"GET /files": {Body: `{"items":[{"id":8,"workflow_id":12,"name":"out","path":"out.csv","st_mtime":1700000000}]}`},
		"GET /workflows/12/required_existing_files": {Body: `{"files":[8]}`},
		"GET /jobs": {Body: `{"items":[{"id":41,"workflow_id":12,"name":"a","command":"x","status":"completed","output_file_ids":[8]},
			{"id":42,"workflow_id":12,"name":"b","command":"x","status":"failed","input_file_ids":[8]},{"id":43,"workflow_id":12,"name":"c","command":"x","status":"completed"},
			{"id":44,"workflow_id":12,"name":"d","command":"x","status":"uninitialized","input_file_ids":[8]}]}`},
		changes: {Body: `{"reinitialized_jobs":["e","b"]}`},
		"PUT /jobs/41/manage_status_change/uninitialized/3": {Body: `{"id":41,"workflow_id":12,"name":"a","command":"x"}`},
		"PUT /jobs/42/manage_status_change/uninitialized/3": {Body: `{"id":42,"workflow_id":12,"name":"b","command":"x"}`},
	})
	same := withoutFiles.With(clitest.Routes{changes: {Body: `{"reinitialized_jobs":[]}`}})
	clitest.Check(t, New,
		clitest.Case{Args: "workflows reinit 12 --dry-run", Routes: gone, Want: clitest.Result{
			Stdout: `changed file:        out.csv
runs again:          a
runs again:          b
runs again:          e
3 jobs would run again, with what depends on them
`,
			Requests: slices.Concat(filesAsked, []string{
				"GET /jobs?include_relationships=true&workflow_id=12",
				"POST /workflows/12/process_changed_job_inputs?dry_run=true",
			}),
		}},
		clitest.Case{Args: "workflows reinit 12 --dry-run -f json", Routes: gone, Want: clitest.Result{
			Stdout: `{
  "workflow_id": 12,
  "safe": true,
  "missing_input_files": [],
  "missing_input_file_count": 0,
  "existing_output_files": [],
  "existing_output_file_count": 0,
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
			Requests: slices.Concat(filesAsked, []string{
				"GET /jobs?include_relationships=true&workflow_id=12",
				"POST /workflows/12/process_changed_job_inputs?dry_run=true",
			}),
		}},
		clitest.Case{Args: "workflows reinit 12", Routes: gone, Want: clitest.Result{
			Stdout: "Initialized workflow 12 for run 3: 1 ready, 1 blocked, 0 completed before\n",
			Requests: slices.Concat(filesAsked, []string{
				"GET /jobs?include_relationships=true&workflow_id=12",
				"POST /workflows/12/process_changed_job_inputs?dry_run=true",
				"POST /workflows/12/reset_status?expected_run_id=2",
				"PUT /jobs/41/manage_status_change/uninitialized/3",
				"PUT /jobs/42/manage_status_change/uninitialized/3",
				"POST /workflows/12/process_changed_job_inputs",
				`PUT /files/8 {"id":8,"workflow_id":12,"name":"out","path":"out.csv"}`,
				"POST /workflows/12/initialize_jobs?async=true&only_uninitialized=true",
				getTask,
				getStatus,
			}),
		}},
		clitest.Case{Args: "workflows reinit 12 --dry-run", Routes: same, Want: clitest.Result{
			Stdout: "Nothing has changed that a job of workflow 12 reads\n",
			Requests: slices.Concat(filesAsked, []string{
				"POST /workflows/12/process_changed_job_inputs?dry_run=true",
			}),
		}},
		clitest.Case{Args: "workflows reinit 12", Routes: threeFiles.With(clitest.Routes{changes: {Body: `{"reinitialized_jobs":[]}`}}), Want: clitest.Result{
			Status: cli.ExitRefused,
			Stderr: `error: 1 input file is missing: in.csv
hint: make them, or go on without them with --force
`,
			Requests: slices.Concat(filesAsked, []string{
				"POST /workflows/12/process_changed_job_inputs?dry_run=true",
			}),
		}},
	)
}
