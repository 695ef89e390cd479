package workflows

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/specfile"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/graph"
)

func newExecutionPlan(a *cli.Factory) *cobra.Command {
	var flags specfile.Flags
	cmd := &cobra.Command{
		Use:   "execution-plan SPEC|WORKFLOW",
		Short: "Show in which order jobs become ready",
		Long: `Show in which order the jobs of a specification or of a workflow become ready:
the start, and then each set of jobs whose end lets others go on, with the
allocations that are asked for at that moment.`,
		Example: `  torc-slurm workflows execution-plan sweep.yaml
  torc-slurm -f json workflows execution-plan 12 | jq '.events[].id'`,
		Args:              cobra.ExactArgs(1),
		Annotations:       cli.ServerExits(cli.ExitInvalidSpec),
		ValidArgsFunction: a.CompleteSpecOrWorkflow,
		RunE: func(cmd *cobra.Command, args []string) error {
			plan, err := planOf(cmd.Context(), a, args[0], flags)
			if err != nil {
				return err
			}
			return a.ShowRecord(plan, func(w io.Writer) { writeExecutionPlan(w, plan) })
		},
	}
	cmd.Flags().BoolVar(&flags.SkipChecks, "skip-checks", false, "skip the checks of jobs against Slurm schedulers")
	return cmd
}

// planOf plans a specification here, and has the daemon plan a workflow.
func planOf(ctx context.Context, a *cli.Factory, ref string, flags specfile.Flags) (*api.ExecutionPlan, error) {
	id, err := strconv.ParseInt(ref, 10, 64)
	if err != nil || id < 1 || cli.Exists(a, ref) {
		loaded, err := specfile.Load(a, ref, flags)
		if err != nil {
			return nil, err
		}
		d := loaded.Definition
		return &api.ExecutionPlan{WorkflowName: d.Name, TotalJobs: len(d.Jobs), Events: graph.ExecutionPlan(d)}, nil
	}
	c, err := a.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return c.Workflows.ExecutionPlan(ctx, id)
}

// writeExecutionPlan writes a plan as a tree: its moments, and below each what happens then.
func writeExecutionPlan(w io.Writer, p *api.ExecutionPlan) {
	fmt.Fprintf(w, "%s: %s, %s\n", cli.Printable(p.WorkflowName),
		workflow.CountOf(int64(p.TotalJobs), "job", "jobs"), workflow.CountOf(int64(len(p.Events)), "event", "events"))
	for i, e := range p.Events {
		branch, stem := "├─", "│ "
		if i == len(p.Events)-1 {
			branch, stem = "└─", "  "
		}
		fmt.Fprintf(w, "%s %s: %s\n", branch, cli.Printable(e.ID), cli.Printable(e.TriggerDescription))
		for _, allocation := range e.SchedulerAllocations {
			fmt.Fprintf(w, "%s   asks for %s of %s (%s)\n", stem,
				workflow.CountOf(allocation.NumAllocations, "allocation", "allocations"), allocation.Scheduler, allocation.SchedulerType)
		}
		if n := len(e.JobsBecomingReady); n > 0 {
			fmt.Fprintf(w, "%s   ready: %s\n", stem, cli.Printable(cli.FirstNames(e.JobsBecomingReady)))
		}
		if len(e.UnlocksEvents) > 0 {
			fmt.Fprintf(w, "%s   then:  %s\n", stem, cli.Printable(cli.FirstNames(e.UnlocksEvents)))
		}
	}
}
