package main

import (
	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/admin"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/alerts"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/allocations"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/computenodes"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/configcmd"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/daemoncmd"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/db"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/efficiency"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/events"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/files"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/graphcmd"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/handlers"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/holds"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/hpc"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/jobs"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/logs"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/mcpcmd"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/noderunner"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/policy"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/proposals"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/repair"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/requirements"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/results"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/run"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/serve"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/slurmcmd"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/submit"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/tasks"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/userdata"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/workflows"
)

// newRoot returns the root command with all subcommands.
func newRoot(a *cli.Factory) *cobra.Command {
	root := cli.NewRoot(a)
	root.Version = versionText()
	root.Short = "Run workflows of jobs"
	root.Long = `torc-slurm runs workflows of jobs: in the right order, the right number at a
time, with failures named, repaired and retried.

There is no server to look after: a command finds your daemon or starts it.`
	root.Example = `  torc-slurm run sweep.yaml            run a workflow here, with progress and a report
  torc-slurm exec -j 8 --param i=1:100 -- ./sim {i}
  torc-slurm why simulate_042          why is this job where it is?
  torc-slurm logs follow simulate_042`
	root.AddCommand(
		workflows.NewCreate(a), run.New(a), submit.New(a), run.NewExec(a), workflows.NewStatus(a), repair.NewWatch(a), repair.New(a), workflows.NewPause(a), workflows.NewResume(a), workflows.NewCancel(a), workflows.NewDelete(a),
		tasks.New(a),
		holds.New(a),
		proposals.New(a),
		alerts.New(a),
		policy.NewBreakers(a),
		jobs.NewWhy(a), efficiency.New(a), graphcmd.New(a), logs.New(a), mcpcmd.New(a, version),
		serve.New(a, version), daemoncmd.New(a), admin.NewHtpasswd(a), admin.New(a), noderunner.New(a), noderunner.NewGateway(a), run.NewLoginRunner(a), noderunner.NewTorc(a), db.New(a), admin.NewPing(a),
		hpc.New(a), slurmcmd.New(a), allocations.NewQueue(a), allocations.New(a),
		configcmd.New(a), newCompletionsCommand(a), newManCommand(a),
		workflows.NewReset(a), newWorkflows(a), jobs.New(a), files.New(a), userdata.New(a),
		requirements.New(a), handlers.New(a), policy.New(a), computenodes.New(a),
		results.New(a), events.New(a), events.NewAudit(a), jobs.NewDependencies(a), newReports(a),
	)
	cli.NoPathsElsewhere(root)
	return root
}

// newWorkflows returns the commands about workflows, with those that older versions of torc
// had there.
func newWorkflows(a *cli.Factory) *cobra.Command {
	c := workflows.New(a)
	c.AddCommand(cli.OldName(run.New(a)))
	return c
}

// newReports returns the commands that torc 0.12 called reports.
func newReports(a *cli.Factory) *cobra.Command {
	summary := workflows.NewStatus(a)
	summary.Use = "summary [WORKFLOW]"
	return cli.OldName(cli.NewGroup(a, "", "reports", "Reports under their old names",
		cli.OldName(summary),
		cli.OldName(results.NewReport(a)),
		cli.OldName(workflows.NewCheckResources(a, "check-resource-utilization [WORKFLOW]")),
	))
}
