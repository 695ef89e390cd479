package main

import (
	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/admin"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/alerts"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/allocations"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/computenodes"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/configcmd"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/db"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/events"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/files"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/handlers"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/holds"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/hpc"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/jobs"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/logs"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/noderunner"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/policy"
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

// newRoot makes the tree of commands.
func newRoot(a *cli.Factory) *cobra.Command {
	root := &cobra.Command{
		Use:   "torc-slurm",
		Short: "Run workflows of jobs",
		Long: `torc-slurm runs workflows of jobs: in the right order, the right number at a
time, with failures named, repaired and retried.

There is no server to look after: a command finds your daemon or starts it.`,
		Example: `  torc-slurm run sweep.yaml            run a workflow here, with progress and a report
  torc-slurm exec -j 8 --param i=1:100 -- ./sim {i}
  torc-slurm why simulate_042          why is this job where it is?
  torc-slurm logs follow simulate_042`,
		Version:           version,
		SilenceUsage:      true,
		SilenceErrors:     true,
		PersistentPreRunE: func(c *cobra.Command, _ []string) error { return a.Configure(c) },
		Args:              cobra.ArbitraryArgs,
		RunE:              a.RunGroup,
		Annotations:       cli.Exits(),
		// A letter before a command is the one that all commands have, behind
		// it the command's own.
		TraverseChildren: true,
	}
	root.Flags().SortFlags = false
	cli.AddGlobalFlags(root, &a.Flags)
	for _, g := range []cobra.Group{
		{ID: cli.GroupLifecycle, Title: "Workflow lifecycle:"},
		{ID: cli.GroupManagement, Title: "Workflow management:"},
		{ID: cli.GroupCompute, Title: "Scheduler and compute:"},
		{ID: cli.GroupAnalysis, Title: "Analysis and debugging:"},
		{ID: cli.GroupServer, Title: "Server administration:"},
		{ID: cli.GroupUtility, Title: "Configuration and utilities:"},
	} {
		root.AddGroup(&g)
	}
	root.AddCommand(
		workflows.NewCreate(a), run.New(a), submit.New(a), run.NewExec(a), workflows.NewStatus(a), repair.NewWatch(a), repair.New(a), workflows.NewCancel(a), workflows.NewDelete(a),
		tasks.New(a),
		holds.New(a),
		alerts.New(a),
		policy.NewBreakers(a),
		jobs.NewWhy(a), logs.New(a),
		serve.New(a, version), admin.NewHtpasswd(a), admin.New(a), noderunner.New(a), noderunner.NewGateway(a), run.NewLoginRunner(a), noderunner.NewTorc(a), db.New(a), admin.NewPing(a),
		hpc.New(a), slurmcmd.New(a), allocations.NewQueue(a), allocations.New(a),
		configcmd.New(a), newCompletionsCommand(a),
		workflows.NewReset(a), newWorkflows(a), jobs.New(a), files.New(a), userdata.New(a),
		requirements.New(a), handlers.New(a), policy.New(a), computenodes.New(a),
		results.New(a), events.New(a), jobs.NewDependencies(a), newReports(a),
	)
	cli.NoPathsElsewhere(root)
	root.SetHelpCommandGroupID(cli.GroupUtility)
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetVersionTemplate("torc-slurm {{.Version}}\n")
	root.SetUsageTemplate(cli.UsageTemplate)
	root.SetFlagErrorFunc(cli.FlagError)
	root.SuggestionsMinimumDistance = 2
	return root
}

// newWorkflows has the commands about workflows, with those that older versions of
// torc had there.
func newWorkflows(a *cli.Factory) *cobra.Command {
	c := workflows.New(a)
	c.AddCommand(cli.OldName(run.New(a)))
	return c
}

// newReports has what torc 0.12 called reports.
func newReports(a *cli.Factory) *cobra.Command {
	summary := workflows.NewStatus(a)
	summary.Use = "summary [WORKFLOW]"
	return cli.OldName(cli.NewGroup(a, "", "reports", "Reports under their old names",
		cli.OldName(summary),
		cli.OldName(results.NewReport(a)),
		cli.OldName(workflows.NewCheckResources(a, "check-resource-utilization [WORKFLOW]")),
	))
}
