package slurmcmd

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/allocate"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/schedulergen"
	"github.com/torc-slurm/torc-slurm/spec"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// adviceFlags are the flags of slurm plan-allocations.
type adviceFlags struct {
	schedulergen.PlanFlags
	partition, prefer     string
	offline, skipTestOnly bool
}

// plan is the output of slurm plan-allocations.
type plan struct {
	*compute.AllocationPlan
	Choices    []api.AllocationChoice `json:"choices,omitempty"`
	NoForecast string                 `json:"no_forecast,omitempty"`
}

// newPlan returns the command that plans allocations; it has two names.
func newPlan(a *cli.Factory, name string) *cobra.Command {
	var flags adviceFlags
	cmd := &cobra.Command{
		Use:   name + " SPEC|WORKFLOW",
		Short: "Plan allocations for jobs, with their cost and the load of the cluster",
		Long: `Show which allocations the jobs of a specification, or the jobs of a workflow that have
not started, would need, in which partitions, their maximum cost, and whether to request
few large or many small ones. The daemon considers idle nodes, pending jobs, and Slurm's estimates
(sbatch --test-only). Nothing is created or submitted. ` + "`torc-slurm submit`" + ` does not
need this command: it requests allocations when they are needed.

Of the jobs that are ready, or would be, it also shows which sets of allocations the daemon
compares, when each is expected to start and to end the jobs, and which one it would request and
why. With --offline a specification is planned without the daemon.`,
		Example: `  torc-slurm slurm ` + name + ` sweep.yaml
  torc-slurm slurm ` + name + ` 12 --prefer cost
  torc-slurm slurm ` + name + ` --offline --profile kestrel -a myproject sweep.yaml`,
		Args:              cobra.ExactArgs(1),
		Annotations:       cli.ServerExits("3 there is no such specification, workflow or cluster", cli.ExitInvalidSpec),
		ValidArgsFunction: a.CompleteSpecOrWorkflow,
	}
	flags.Add(cmd)
	f := cmd.Flags()
	f.StringVarP(&flags.partition, "partition", "p", "", "`PARTITION` for all jobs (default: the best for each)")
	allocate.AddPrefer(cmd, &flags.prefer)
	f.BoolVar(&flags.offline, "offline", false, "ask Slurm nothing, and for a specification not the daemon")
	f.BoolVar(&flags.skipTestOnly, "skip-test-only", false, "skip Slurm's estimates")
	cmd.RunE = cli.Checked(flags.Check, func(cmd *cobra.Command, args []string) error {
		p, err := planOf(cmd.Context(), a, args[0], &flags)
		if err != nil {
			return err
		}
		return a.ShowRecord(p, func(w io.Writer) { writePlan(w, p) })
	})
	return cmd
}

// planOf makes the daemon plan a specification or a workflow.
func planOf(ctx context.Context, a *cli.Factory, ref string, flags *adviceFlags) (*plan, error) {
	if id, err := strconv.ParseInt(ref, 10, 64); err == nil && id > 0 && !cli.Exists(a, ref) {
		return planWorkflow(ctx, a, id, flags)
	}
	loaded, _, err := loadSpecText(a, ref)
	if err != nil {
		return nil, err
	}
	p, err := planSpec(ctx, a, loaded, flags)
	if err != nil {
		return nil, err
	}
	return &plan{&p.AllocationPlan, p.Choices, p.NoForecast}, nil
}

func planSpec(ctx context.Context, a *cli.Factory, loaded *spec.Result, flags *adviceFlags) (*api.AllocationPlan, error) {
	q := &schedulergen.SpecPlan{PlanFlags: flags.PlanFlags, Partition: flags.partition, Prefer: flags.prefer, NoEstimates: flags.skipTestOnly}
	if flags.offline {
		return schedulergen.PlanOffline(ctx, a, loaded, q)
	}
	c, err := a.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return schedulergen.PlanSpec(ctx, a, c.Client, loaded, q)
}

// planWorkflow makes the daemon plan the remaining jobs of a workflow.
func planWorkflow(ctx context.Context, a *cli.Factory, id int64, flags *adviceFlags) (*plan, error) {
	options, siteErr, err := flags.Request(ctx, a)
	if err != nil {
		return nil, err
	}
	options.Partition = flags.partition
	c, err := a.Connect(ctx)
	if err != nil {
		return nil, err
	}
	p, err := c.Workflows.PlanAllocations(ctx, id, &api.AllocationPlanRequest{SchedulerOptions: options, Offline: flags.offline, NoEstimates: flags.skipTestOnly, Prefer: flags.prefer})
	if err != nil {
		return nil, schedulergen.Refusal(err, siteErr)
	}
	return &plan{&p.AllocationPlan, p.Choices, p.NoForecast}, nil
}

// writePlan writes a plan as text.
func writePlan(w io.Writer, p *plan) {
	n := p.Analysis
	fmt.Fprintf(w, "%s on %s, account %s: at most %d at the same time, %s in sequence\n", workflow.CountOf(int64(n.TotalInstances), "job", "jobs"),
		p.SiteTitle, p.Account, n.MaxParallelism, workflow.CountOf(int64(n.Depth), "step", "steps"))
	for _, s := range p.Cluster {
		fmt.Fprintf(w, "Partition %s: %d of %d nodes idle, %d mixed, %d allocated, %d down; %d jobs run, %d wait for %d nodes\n",
			s.Partition, s.Idle, s.Total, s.Mixed, s.Allocated, s.Down, s.RunningJobs, s.PendingJobs, s.PendingNodes)
	}
	for _, r := range p.Recommendations {
		fmt.Fprintf(w, "%s: %s for %s of %s in partition %s, %s: %s\n", r.Group, workflow.CountOf(int64(r.JobCount), "job", "jobs"),
			workflow.CountOf(r.Allocations, "allocation", "allocations"), workflow.CountOf(r.Nodes, "node", "nodes"), r.Partition, r.Walltime, r.Reason)
		for _, e := range r.Estimates {
			fmt.Fprintf(w, "  Slurm would start %s in %s\n", workflow.CountOf(e.Nodes, "node", "nodes"), cli.ClockTime(cli.Seconds(float64(e.WaitSeconds))))
		}
	}
	allocate.WriteChoices(w, p.Choices, p.NoForecast, len(p.Choices))
	fmt.Fprintf(w, "Cost: at most %.1f node-hours, for which the site charges %.1f\n", float64(p.NodeSeconds)/3600, p.Charge)
	for _, warning := range p.Warnings {
		fmt.Fprintf(w, "Warning: %s\n", warning)
	}
}
