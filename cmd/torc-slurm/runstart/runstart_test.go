package runstart

import (
	"context"
	"fmt"
	"testing"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli/clitest"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// start is a command that starts workflow 12 unless it has been started; with an argument
// it ignores missing files.
func start(a *cli.Factory) *cobra.Command {
	return &cobra.Command{Use: "start", RunE: a.ServerCommand(func(ctx context.Context, c *cli.Connection, args []string) error {
		return Ensure(ctx, a, c, 12, len(args) > 0)
	})}
}

const (
	getStatus  = "GET /workflows/12/status"
	getResults = "GET /results"
	reset      = "POST /workflows/12/reset_status"
	initialize = "POST /workflows/12/initialize_jobs"
	required   = "GET /workflows/12/required_existing_files"
)

func status(run int64, n api.JobCounts) clitest.Reply {
	return clitest.Reply{Body: api.WorkflowStatus{WorkflowID: 12, RunID: run, TotalJobs: 2, JobsByStatus: n}}
}

// fresh is a workflow whose jobs no run has begun with.
var fresh = clitest.Routes{
	getStatus: status(0, api.JobCounts{Uninitialized: 2}), getResults: {Body: `{"items":[]}`}, required: {Body: `{"files":[]}`},
	reset: {Body: `{"id":12,"name":"w","user":"ann","run_id":1}`}, initialize: {Body: `{}`},
	"GET /workflows/12": {Body: `{"id":12,"name":"w","user":"ann","submission_directory":"$DIR"}`},
}

func TestEnsure(t *testing.T) {
	conflict := clitest.Reply{Status: 409, Body: `{"error":{"message":"workflow 12 is at run 1"}}`}
	begun := status(1, api.JobCounts{Ready: 2})
	meanwhile := clitest.Reply{Body: status(0, api.JobCounts{Uninitialized: 2}).Body, Then: []clitest.Reply{begun}}
	clitest.Check(t, start,
		clitest.Case{Args: "start", Routes: clitest.Routes{getStatus: begun}, Want: clitest.Result{Requests: []string{getStatus}}},
		clitest.Case{Args: "start", Routes: fresh, Want: clitest.Result{
			Requests: []string{
				getStatus,
				required,
				"GET /results?all_runs=true&limit=1&run_id=0&workflow_id=12",
				"POST /workflows/12/reset_status?expected_run_id=0",
				"POST /workflows/12/initialize_jobs?expected_run_id=1",
			},
		}},
		// A run that a reset has begun, and in which nothing has run, is taken.
		clitest.Case{Args: "start", Routes: fresh.With(clitest.Routes{getStatus: status(3, api.JobCounts{Uninitialized: 1, Completed: 1})}), Want: clitest.Result{
			Requests: []string{
				getStatus,
				required,
				"GET /results?all_runs=true&limit=1&run_id=3&workflow_id=12",
				"POST /workflows/12/initialize_jobs?expected_run_id=3&only_uninitialized=true",
			},
		}},
		// One with results needs another run.
		clitest.Case{Args: "start", Routes: fresh.With(clitest.Routes{
			getStatus: status(3, api.JobCounts{Uninitialized: 2}), getResults: {Body: `{"items":[{"id":1,"job_id":41,"workflow_id":12,"run_id":3}]}`},
			reset: {Body: `{"id":12,"name":"w","user":"ann","run_id":4}`}}), Want: clitest.Result{
			Requests: []string{
				getStatus,
				required,
				"GET /results?all_runs=true&limit=1&run_id=3&workflow_id=12",
				getStatus,
				"POST /workflows/12/reset_status?expected_run_id=3",
				"POST /workflows/12/initialize_jobs?expected_run_id=4",
			},
		}},
		// Somebody else was faster.
		clitest.Case{Args: "start", Routes: fresh.With(clitest.Routes{getStatus: meanwhile, reset: conflict}), Want: clitest.Result{
			Stderr: "Run 1 of workflow 12 has been begun meanwhile.\n",
			Requests: []string{
				getStatus,
				required,
				"GET /results?all_runs=true&limit=1&run_id=0&workflow_id=12",
				"POST /workflows/12/reset_status?expected_run_id=0",
				getStatus,
				getStatus,
			},
		}},
		clitest.Case{Args: "start", Routes: fresh.With(clitest.Routes{reset: conflict}), Want: clitest.Result{
			Status: cli.ExitRefused,
			Stderr: "error: start workflow 12: workflow 12 is at run 1\n",
			Requests: []string{
				getStatus,
				required,
				"GET /results?all_runs=true&limit=1&run_id=0&workflow_id=12",
				"POST /workflows/12/reset_status?expected_run_id=0",
				getStatus,
			},
		}},
	)
}

// TestMissingInputs: nothing is begun while files are missing, which count from where the
// workflow was submitted.
func TestMissingInputs(t *testing.T) {
	missing := fresh.With(clitest.Routes{required: {Body: `{"files":[7,8,9]}`}, "GET /files": {Body: `{"items":[
		{"id":7,"workflow_id":12,"name":"a","path":"in/a.csv"},{"id":8,"workflow_id":12,"name":"b","path":"$DIR/b.csv"},{"id":10,"workflow_id":12,"name":"d","path":"d.csv"}]}`}})
	clitest.Check(t, start,
		clitest.Case{Args: "start", Files: map[string]string{"in/a.csv": ""}, Routes: missing, Want: clitest.Result{
			Status: cli.ExitRefused,
			Stderr: `error: jobs read files that are not there: $DIR/b.csv
hint: no job is left that would write them; paths count from the folder where the workflow was submitted
`,
			Requests: []string{
				getStatus,
				required,
				"GET /workflows/12",
				"GET /files?workflow_id=12",
			},
		}},
		clitest.Case{Args: "start", Files: map[string]string{"in/a.csv": "", "b.csv": ""}, Routes: missing, Want: clitest.Result{
			Requests: []string{
				getStatus,
				required,
				"GET /workflows/12",
				"GET /files?workflow_id=12",
				"GET /results?all_runs=true&limit=1&run_id=0&workflow_id=12",
				"POST /workflows/12/reset_status?expected_run_id=0",
				"POST /workflows/12/initialize_jobs?expected_run_id=1",
			},
		}},
		clitest.Case{Args: "start anyway", Routes: missing, Want: clitest.Result{
			Requests: []string{
				getStatus,
				"GET /results?all_runs=true&limit=1&run_id=0&workflow_id=12",
				"POST /workflows/12/reset_status?expected_run_id=0",
				"POST /workflows/12/initialize_jobs?expected_run_id=1",
			},
		}},
	)
}

// TestCheckInputs: of a specification those files are missing that jobs read and none writes.
func TestCheckInputs(t *testing.T) {
	a := &cli.Factory{Environment: cli.Environment{Dir: t.TempDir()}}
	d := &workflow.Definition{
		Files: []workflow.FileDefinition{{Path: "read"}, {Path: "written"}, {Path: "both"}, {Path: "."}},
		Jobs:  []workflow.JobDefinition{{InputFiles: []int32{0, 2, 3}, OutputFiles: []int32{1}}, {InputFiles: []int32{1}, OutputFiles: []int32{2}}},
	}
	if message, _ := cli.ErrorText(CheckInputs(a, d)); message != "jobs read files that are not there: read" {
		t.Error(message)
	}
	d = &workflow.Definition{Jobs: []workflow.JobDefinition{{}}}
	for i := range int32(12) {
		d.Files = append(d.Files, workflow.FileDefinition{Path: fmt.Sprint("f", i)})
		d.Jobs[0].InputFiles = append(d.Jobs[0].InputFiles, i)
	}
	if message, _ := cli.ErrorText(CheckInputs(a, d)); message != "jobs read files that are not there: f0, f1, f2, f3, f4, f5, f6, f7, f8, f9 and 2 more" {
		t.Error(message)
	}
}
