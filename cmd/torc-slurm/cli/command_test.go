package cli_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli/clitest"
)

// show is a command about a workflow and, with -j, a job of it.
func show(a *cli.Factory) *cobra.Command {
	job := ""
	c := &cobra.Command{Use: "show [WORKFLOW]", Args: cobra.MaximumNArgs(1), Annotations: cli.ServerExits()}
	c.Flags().StringVarP(&job, "job", "j", "", "")
	c.RunE = a.WorkflowCommand(func(ctx context.Context, conn *cli.Connection, id int64) error {
		text := fmt.Sprint("workflow ", id)
		if job != "" {
			jobID, err := a.JobID(ctx, conn, job, fmt.Sprint(id))
			if err != nil {
				return err
			}
			text += fmt.Sprint(", job ", jobID)
		}
		return a.ShowMessage(struct {
			Text string `json:"text"`
		}{text}, "%s", text)
	})
	return c
}

const (
	listOwn = "GET /workflows"
	one     = `{"id":11,"name":"first","user":"ann"}`
	two     = `{"id":12,"name":"a name that is longer than others","user":"ann","description":"the second of them"}`
)

// choices is the question for one of them.
const choices = `╭────┬──────────────────────┬─────────┬────────────────────╮
│ ID │ Name                 │ Created │ Description        │
├────┼──────────────────────┼─────────┼────────────────────┤
│ 11 │ first                │         │                    │
│ 12 │ a name that is long… │         │ the second of them │
╰────┴──────────────────────┴─────────┴────────────────────╯
Workflow [12]: `

// askOwn is how the workflows of the user are asked for.
var askOwn = []string{"GET /workflows?is_archived=false&user=ann"}

// TestWhichWorkflow: without an id it is the user's only workflow; of several one has to be
// chosen.
func TestWhichWorkflow(t *testing.T) {
	both := clitest.Routes{listOwn: {Body: `{"items":[` + one + "," + two + `]}`}}
	clitest.Check(t, show,
		clitest.Case{Args: "show 12", Want: clitest.Result{Stdout: "workflow 12\n"}},
		clitest.Case{Args: "show", Routes: clitest.Routes{listOwn: {Body: `{"items":[` + one + `]}`}}, Want: clitest.Result{Stdout: "workflow 11\n", Requests: askOwn}},
		clitest.Case{Args: "show", Routes: clitest.Routes{listOwn: {Body: `{"items":[]}`}}, Want: clitest.Result{
			Status: 3,
			Stderr: "error: user ann has no workflow here\n" +
				"hint: `torc-slurm create SPEC` creates one; `torc-slurm workflows list --all-users` lists those of all users\n",
			Requests: askOwn,
		}},
		clitest.Case{Args: "show", Routes: both, Want: clitest.Result{
			Status:   cli.ExitUsage,
			Stderr:   "error: you have 2 workflows; give the id of one (see `torc-slurm workflows list`)\n",
			Requests: askOwn,
		}},
		clitest.Case{Args: "show -f json", Terminal: 60, Routes: both, Want: clitest.Result{
			Status: cli.ExitUsage,
			Stderr: "{\n" +
				"  \"status\": \"error\",\n" +
				"  \"message\": \"you have 2 workflows; give the id of one (see `torc-slurm workflows list`)\",\n" +
				"  \"exit_status\": 2\n" +
				"}\n",
			Requests: askOwn,
		}},
		clitest.Case{Args: "show", Terminal: 50, Stdin: "\n", Routes: both, Want: clitest.Result{
			Stdout: "workflow 12\n",
			Stderr: `╭────┬────────────────┬─────────┬────────────────╮
│ ID │ Name           │ Created │ Description    │
├────┼────────────────┼─────────┼────────────────┤
│ 11 │ first          │         │                │
│ 12 │ a name that i… │         │ the second of… │
╰────┴────────────────┴─────────┴────────────────╯
Workflow [12]: `,
			Requests: askOwn,
		}},
		clitest.Case{Args: "show", Terminal: 60, Stdin: "11\n", Routes: both, Want: clitest.Result{
			Stdout:   "workflow 11\n",
			Stderr:   choices,
			Requests: askOwn,
		}},
		clitest.Case{Args: "show", Terminal: 60, Stdin: "first\n", Routes: both, Want: clitest.Result{
			Status: cli.ExitUsage,
			Stderr: choices + `error: "first" is not the id of a workflow: ids are numbers from 1
`,
			Requests: askOwn,
		}},
		clitest.Case{Args: "show", Terminal: 60, Interrupt: "[12]: ", Routes: both, Want: clitest.Result{
			Status: cli.ExitInterrupted,
			Stderr: choices + `
error: interrupted
`,
			Requests: askOwn,
		}},
	)
}

// TestWhichJob: a name goes before an id, which has to be of the workflow.
func TestWhichJob(t *testing.T) {
	const byName, byID = "GET /jobs", "GET /jobs/7"
	none := clitest.Reply{Body: `{"items":[]}`}
	job := func(of string) clitest.Reply {
		return clitest.Reply{Body: `{"id":7,"workflow_id":` + of + `,"name":"a","command":"x"}`}
	}
	clitest.Check(t, show,
		clitest.Case{Args: "show 12 -j 7", Routes: clitest.Routes{byName: {Body: `{"items":[{"id":40,"workflow_id":12,"name":"7","command":"x"}]}`}}, Want: clitest.Result{Stdout: "workflow 12, job 40\n", Requests: []string{"GET /jobs?name=7&workflow_id=12"}}},
		clitest.Case{Args: "show 12 -j 7", Routes: clitest.Routes{byName: none, byID: job("12")}, Want: clitest.Result{Stdout: "workflow 12, job 7\n", Requests: []string{"GET /jobs?name=7&workflow_id=12", "GET /jobs/7"}}},
		clitest.Case{Args: "show 12 -j 7", Routes: clitest.Routes{byName: none, byID: job("13")}, Want: clitest.Result{
			Status: 3,
			Stderr: "error: workflow 12 has no job \"7\"\n" +
				"hint: `torc-slurm jobs list 12` lists them; -w chooses another workflow\n",
			Requests: []string{"GET /jobs?name=7&workflow_id=12", "GET /jobs/7"},
		}},
		clitest.Case{Args: "show 12 -j sim", Routes: clitest.Routes{byName: none}, Want: clitest.Result{
			Status: 3,
			Stderr: "error: workflow 12 has no job \"sim\"\n" +
				"hint: `torc-slurm jobs list 12` lists them; -w chooses another workflow\n",
			Requests: []string{"GET /jobs?name=sim&workflow_id=12"},
		}},
	)
}

// TestVersions: another major version of the server is refused.
func TestVersions(t *testing.T) {
	serves := func(version string) clitest.Routes {
		return clitest.Routes{"GET /version": {Body: `{"api_version":"` + version + `"}`}}
	}
	refused := clitest.Run(t, show, clitest.Case{Args: "show 12", Routes: serves("99.0.0")})
	if refused.Status != cli.ExitFailed || refused.Stdout != "" {
		t.Errorf("another major version: %+v", refused)
	}
	skipped := clitest.Run(t, show, clitest.Case{Args: "--skip-version-check show 12", Routes: serves("99.0.0")})
	if skipped.Status != 0 || skipped.Stderr != "" || skipped.Stdout != "workflow 12\n" {
		t.Errorf("unchecked: %+v", skipped)
	}
	// A server that does not say its version may still answer.
	silent := clitest.Run(t, show, clitest.Case{Args: "show 12", Routes: clitest.Routes{"GET /version": {Status: 404, Body: `{}`}}})
	if silent.Status != 0 || silent.Stdout != "workflow 12\n" {
		t.Errorf("without a version: %+v", silent)
	}
}

// TestGlobalFlags: what is wrong with them is said before anything is done.
func TestGlobalFlags(t *testing.T) {
	clitest.Check(t, show,
		clitest.Case{Args: "-f yaml show 12", Want: clitest.Result{Status: cli.ExitUsage, Stderr: "error: unknown format \"yaml\": it is table, json or csv\n"}},
		clitest.Case{Args: "-f csv show 12", Want: clitest.Result{Status: cli.ExitUsage, Stderr: "error: csv is for lists; `torc-slurm show` shows none\n"}},
		clitest.Case{Args: "--log-level loud show 12", Want: clitest.Result{Status: cli.ExitUsage, Stderr: "error: unknown log level \"loud\": it is debug, info, warn or error\n"}},
		clitest.Case{Args: "--in-memory show 12", Want: clitest.Result{Status: cli.ExitUsage, Stderr: "error: --in-memory needs --standalone; add -s\n"}},
		clitest.Case{Args: "-s --in-memory show 12", Want: clitest.Result{
			Status: cli.ExitUsage,
			Stderr: "error: --in-memory works with run and exec only, not with show\n",
		}},
		clitest.Case{Args: "--snapshot-interval-seconds 3 show 12", Want: clitest.Result{Status: cli.ExitUsage, Stderr: "error: --snapshot-interval-seconds needs --in-memory\n"}},
		clitest.Case{Args: "-s --in-memory --snapshot-interval-seconds 0 show 12", Want: clitest.Result{Status: cli.ExitUsage, Stderr: "error: --snapshot-interval-seconds 0: the minimum is 1\n"}},
		clitest.Case{Args: "show 12 --colour", Want: clitest.Result{Status: cli.ExitUsage, Stderr: "error: unknown flag: --colour; see `torc-slurm show --help`\n"}},
		clitest.Case{Args: "shwo 12", Want: clitest.Result{Status: cli.ExitUsage, Stderr: "error: torc-slurm has no command \"shwo\"; did you mean show?\n"}},
		clitest.Case{Args: "show 12 13", Want: clitest.Result{
			Status: cli.ExitUsage,
			Stderr: "error: accepts at most 1 arg(s), received 2; usage: torc-slurm show [WORKFLOW] [flags]\n",
		}},
		clitest.Case{Args: "show 12", Environ: []string{"TORC_CLIENT__FORMAT=json"}, Want: clitest.Result{
			Stdout: `{
  "text": "workflow 12"
}
`,
		}},
		clitest.Case{Args: "show 12", Files: map[string]string{".config/torc/config.toml": "[client\n"}, Want: clitest.Result{
			Status: cli.ExitUsage,
			Stderr: "error: $DIR/.config/torc/config.toml:2: expected '.' or ']' to end table name, but got '\\n' instead\n",
		}},
	)
}
