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
	startRun = "POST /workflows/12/start_run"
	propose  = startRun + ` {"dry_run":true}`
	carryOut = startRun + " {}"
)

// starts are the routes with the answers of the daemon: a proposal, and what was done.
func starts(proposal, done api.RunStart) clitest.Routes {
	return clitest.Routes{
		startRun:            {Body: proposal, Then: []clitest.Reply{{Body: done}}},
		"GET /workflows/12": {Body: `{"id":12,"name":"w","user":"ann","submission_directory":"$DIR"}`},
	}
}

var (
	proposed = api.RunStart{WorkflowID: 12, DryRun: true, Started: true, RunID: 1}
	started  = api.RunStart{WorkflowID: 12, Started: true, RunID: 1}
	running  = api.RunStart{WorkflowID: 12, RunID: 1, Reason: "run 1 has already started"}
)

func TestEnsure(t *testing.T) {
	conflict := clitest.Reply{Status: 409, Body: `{"error":{"message":"workflow 12 has ended","hint":"reset it"}}`}
	clitest.Check(t, start,
		clitest.Case{Args: "start", Routes: starts(running, running), Want: clitest.Result{Requests: []string{propose}}},
		clitest.Case{Args: "start", Routes: starts(proposed, started), Want: clitest.Result{Requests: []string{propose, carryOut}}},
		clitest.Case{Args: "start anyway", Routes: clitest.Routes{startRun: {Body: started}}, Want: clitest.Result{Requests: []string{carryOut}}},
		// Somebody else was faster.
		clitest.Case{Args: "start", Routes: starts(proposed, running), Want: clitest.Result{
			Stderr:   "Run 1 of workflow 12 was started meanwhile.\n",
			Requests: []string{propose, carryOut},
		}},
		clitest.Case{Args: "start", Routes: clitest.Routes{startRun: conflict}, Want: clitest.Result{
			Status:   cli.ExitRefused,
			Stderr:   "error: workflow 12 has ended\nhint: reset it\n",
			Requests: []string{propose, carryOut},
		}},
		clitest.Case{Args: "start", Routes: clitest.Routes{startRun: {Status: 404, Body: `{"error":{"message":"there is no workflow 12"}}`}}, Want: clitest.Result{
			Status:   3,
			Stderr:   "error: there is no workflow 12\n",
			Requests: []string{propose},
		}},
	)
}

// TestMissingInputs: nothing starts while files are missing; relative paths start at the
// folder where the workflow was submitted.
func TestMissingInputs(t *testing.T) {
	needs := proposed
	needs.RequiredFiles = []string{"in/a.csv", "$DIR/b.csv"}
	missing := starts(needs, started)
	clitest.Check(t, start,
		clitest.Case{Args: "start", Files: map[string]string{"in/a.csv": ""}, Routes: missing, Want: clitest.Result{
			Status: cli.ExitRefused,
			Stderr: `error: jobs read files that do not exist: $DIR/b.csv
hint: no remaining job writes them; relative paths start at the folder where the workflow was submitted
`,
			Requests: []string{propose, "GET /workflows/12"},
		}},
		clitest.Case{Args: "start", Files: map[string]string{"in/a.csv": "", "b.csv": ""}, Routes: missing, Want: clitest.Result{
			Requests: []string{propose, "GET /workflows/12", carryOut},
		}},
		clitest.Case{Args: "start anyway", Routes: clitest.Routes{startRun: {Body: started}}, Want: clitest.Result{Requests: []string{carryOut}}},
	)
}

// TestCheckInputs: files of a specification are missing if jobs read them and none writes them.
func TestCheckInputs(t *testing.T) {
	a := &cli.Factory{Environment: cli.Environment{Dir: t.TempDir()}}
	d := &workflow.Definition{
		Files: []workflow.FileDefinition{{Path: "read"}, {Path: "written"}, {Path: "both"}, {Path: "."}},
		Jobs:  []workflow.JobDefinition{{InputFiles: []int32{0, 2, 3}, OutputFiles: []int32{1}}, {InputFiles: []int32{1}, OutputFiles: []int32{2}}},
	}
	if message, _ := cli.ErrorText(CheckInputs(a, d)); message != "jobs read files that do not exist: read" {
		t.Error(message)
	}
	d = &workflow.Definition{Jobs: []workflow.JobDefinition{{}}}
	for i := range int32(12) {
		d.Files = append(d.Files, workflow.FileDefinition{Path: fmt.Sprint("f", i)})
		d.Jobs[0].InputFiles = append(d.Jobs[0].InputFiles, i)
	}
	if message, _ := cli.ErrorText(CheckInputs(a, d)); message != "jobs read files that do not exist: f0, f1, f2, f3, f4, f5, f6, f7, f8, f9 and 2 more" {
		t.Error(message)
	}
}
