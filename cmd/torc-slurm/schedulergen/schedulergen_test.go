package schedulergen

import (
	"context"
	"fmt"
	"testing"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli/clitest"
	siteconfigs "github.com/torc-slurm/torc-slurm/site-configs"
)

// regenerate is a command with the flags of plans that regenerates workflow 12. Like those that
// recover, it sets the other options itself: -- submit, dry-run or ignore-live.
func regenerate(a *cli.Factory) *cobra.Command {
	flags := RegenerateFlags{}
	cmd := &cobra.Command{Use: "regenerate"}
	flags.PlanFlags.Add(cmd)
	cmd.Flags().StringVar(&flags.Walltime, "walltime", "", "")
	AddNoAutoSchedule(cmd.Flags(), &flags.Once)
	cmd.RunE = cli.Checked(flags.Check, a.ServerCommand(func(ctx context.Context, c *cli.Connection, args []string) error {
		for _, option := range args {
			switch option {
			case "submit":
				flags.Submit = true
			case "dry-run":
				flags.DryRun = true
			case "ignore-live":
				flags.IgnoreLive = true
			}
		}
		r, err := Regenerate(ctx, a, c, 12, &flags)
		if err != nil {
			return err
		}
		return a.ShowRecord(r.JSON(), r.Write)
	}))
	return cmd
}

const (
	path        = "POST /workflows/12/regenerate"
	getWorkflow = "GET /workflows/12"
	startRun    = "POST /workflows/12/start_run"
	planned     = `"group_by":"partition","walltime_strategy":"max-job-runtime","walltime_multiplier":1.5`
	submission  = path + ` {` + planned + `,"submit":{"output_dir":"$DIR/torc_output"},"start_run":true}`
)

// answers are the routes of a workflow that can be started, with a response to the request.
func answers(reply clitest.Reply) clitest.Routes {
	return clitest.Routes{
		getWorkflow: {Body: `{"id":12,"name":"w","user":"ann","submission_directory":"$DIR"}`},
		startRun:    {Body: api.RunStart{WorkflowID: 12, RunID: 1, Started: true}},
		path:        reply,
	}
}

// rejected is a response with a status and a kind of error.
func rejected(status int, kind, message string) clitest.Reply {
	return clitest.Reply{Status: status, Body: api.ErrorResponse{Error: api.ErrorDetail{Error: kind, Message: message}}}
}

// TestRegenerateRejects: the exit status says whose mistake it is: that of the call, of the
// jobs, or of the state of the workflow.
func TestRegenerateRejects(t *testing.T) {
	plain := []string{path + ` {` + planned + `}`}
	clitest.Check(t, regenerate,
		clitest.Case{Args: "regenerate --walltime UNLIMITED", Want: clitest.Result{
			Status: cli.ExitUsage, Stderr: "error: --walltime \"UNLIMITED\" is not a time limit for sbatch, such as 04:00:00 or 2-12:00:00\n",
		}},
		clitest.Case{Args: "regenerate --walltime-multiplier 1001", Want: clitest.Result{
			Status: cli.ExitUsage, Stderr: "error: --walltime-multiplier must be from 1 to 1000, not 1001\n",
		}},
		clitest.Case{Args: "regenerate", Routes: answers(rejected(422, api.KindUnfit, "job a needs 9 GPUs")), Want: clitest.Result{
			Status: cli.ExitInvalidSpec, Stderr: "error: job a needs 9 GPUs\n", Requests: plain,
		}},
		clitest.Case{Args: "regenerate", Routes: answers(rejected(404, api.KindNotFound, "there is no workflow 12")), Want: clitest.Result{
			Status: 3, Stderr: "error: there is no workflow 12\n", Requests: plain,
		}},
		// Neither this machine nor the daemon knows a site.
		clitest.Case{Args: "regenerate", Routes: answers(rejected(409, "Conflict", "the daemon knows no site")), Want: clitest.Result{
			Status: 3,
			Stderr: "error: no HPC profile specified and no system detected\n" +
				"hint: choose one of `torc-slurm hpc list`, or run it on a host with Slurm\n",
			Requests: plain,
		}},
	)
	// With a known site the conflict is about something else.
	got := clitest.Run(t, regenerate, clitest.Case{Args: "regenerate --profile kestrel", Routes: answers(rejected(409, "Conflict", "the workflow is archived"))})
	if got.Status != cli.ExitRefused || got.Stderr != "error: the workflow is archived\n" {
		t.Errorf("a conflict with a known site: %+v", got)
	}
}

// TestSubmission: what was requested is told as text and counted in JSON; an error says that no
// allocation will come.
func TestSubmission(t *testing.T) {
	answer := func(plan api.SchedulePlan) clitest.Routes {
		return answers(clitest.Reply{Body: api.Regeneration{WorkflowID: 12, PendingJobs: 2, Submission: &plan, Schedulers: []api.PlannedScheduler{
			{Name: "s", Partition: "debug", Walltime: "01:00:00", NumAllocations: 3, JobIDs: []int64{1, 2}, JobNames: []string{"a", "b"}},
		}}})
	}
	const line = "s (existing): 2 jobs for 01:00:00 in partition debug; 3 allocations are missing\n"
	requests := []string{getWorkflow, startRun + ` {"dry_run":true}`, submission}
	clitest.Check(t, regenerate,
		clitest.Case{Args: "regenerate submit", Routes: answer(api.SchedulePlan{WorkflowID: 12}), Want: clitest.Result{
			Stdout: line + "Nothing is requested from Slurm, now or later.\n", Requests: requests,
		}},
		clitest.Case{Args: "regenerate submit -f json", Routes: answer(api.SchedulePlan{WorkflowID: 12, RequestsMore: true, Requested: []api.Allocation{{SlurmJobID: 812}}}), Want: clitest.Result{
			Stdout: `{
  "workflow_id": 12,
  "pending_jobs": 2,
  "schedulers_created": [
    {
      "name": "s",
      "account": "",
      "partition": "debug",
      "walltime": "01:00:00",
      "mem": "",
      "nodes": 0,
      "num_allocations": 3,
      "job_count": 2,
      "job_names": [
        "a",
        "b"
      ],
      "has_dependencies": false
    }
  ],
  "total_allocations": 3,
  "allocations_submitted": 1,
  "allocations_deferred": 2,
  "live_allocations": 0,
  "warnings": null,
  "submitted": true
}
`,
			Requests: requests,
		}},
	)
}

// TestDryRun: nothing is started, whatever else was asked for.
func TestDryRun(t *testing.T) {
	clitest.Check(t, regenerate, clitest.Case{
		Args: "regenerate submit dry-run ignore-live -f json", Routes: answers(clitest.Reply{Body: api.Regeneration{WorkflowID: 12, PendingJobs: 1, SiteName: "here", SiteTitle: "Here"}}),
		Want: clitest.Result{
			Stdout: `{
  "dry_run": true,
  "workflow_id": 12,
  "pending_jobs": 1,
  "profile_name": "here",
  "profile_display_name": "Here",
  "planned_schedulers": [],
  "total_allocations": 0,
  "would_submit": true,
  "live_allocations": 0,
  "warnings": null
}
`,
			Requests: []string{path + ` {` + planned + `,"dry_run":true,"ignore_live":true}`},
		},
	})
}

// TestAccountFor: the flag goes before the specification, which goes before the site.
func TestAccountFor(t *testing.T) {
	for _, tt := range []struct{ flag, defaults, site, want string }{
		{"flag", `{"account":"spec"}`, "site", "flag"},
		{"", `{"qos":"high","account":"spec"}`, "site", "spec"},
		{"", `{"qos":"high"}`, "site", "site"},
	} {
		p := PlanFlags{account: tt.flag}
		if got, err := p.AccountFor([]byte(tt.defaults), &siteconfigs.Site{DefaultAccount: tt.site}); err != nil || got != tt.want {
			t.Errorf("%s: account %q, %v", fmt.Sprint(tt), got, err)
		}
	}
	_, err := (&PlanFlags{}).AccountFor(nil, &siteconfigs.Site{})
	if message, _ := cli.ErrorText(err); message != "no account is set; set --account, or account in slurm_defaults" || cli.ExitStatus(err) != cli.ExitUsage {
		t.Errorf("no account: %v, exit status %d", err, cli.ExitStatus(err))
	}
}
