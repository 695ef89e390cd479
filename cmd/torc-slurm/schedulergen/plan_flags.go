package schedulergen

import (
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/sites"
	sbatchtemplates "github.com/torc-slurm/torc-slurm/sbatch-templates"
	"github.com/torc-slurm/torc-slurm/scheduler"
	siteconfigs "github.com/torc-slurm/torc-slurm/site-configs"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// PlanFlags say how schedulers are made for jobs.
type PlanFlags struct {
	account, Profile string
	single           bool
	groupBy          string
	strategy         string
	multiplier       float64
}

// Add gives a command the flags.
func (p *PlanFlags) Add(cmd *cobra.Command) {
	p.Defaults()
	f := cmd.Flags()
	f.StringVarP(&p.account, "account", "a", "", "`ACCOUNT` that is charged")
	f.StringVar(&p.Profile, "profile", "", "`NAME` of the cluster (default: the one of this machine)")
	f.BoolVar(&p.single, "single-allocation", false, "one allocation of many nodes instead of many of one node")
	f.StringVar(&p.groupBy, "group-by", p.groupBy, "one scheduler per `WHAT`: partition or resource-requirements")
	f.StringVar(&p.strategy, "walltime-strategy", p.strategy, "`HOW` long allocations are: max-job-runtime or max-partition-time")
	f.Float64Var(&p.multiplier, "walltime-multiplier", p.multiplier, "reserve of max-job-runtime")
	cli.CompleteWords(cmd, "group-by", string(scheduler.ByPartition), string(scheduler.ByRequirements))
	cli.CompleteWords(cmd, "walltime-strategy", string(scheduler.MaxJobRuntime), string(scheduler.MaxPartitionTime))
}

// Defaults are what the flags are if none is given.
func (p *PlanFlags) Defaults() {
	p.groupBy, p.strategy, p.multiplier = string(scheduler.ByPartition), string(scheduler.MaxJobRuntime), 1.5
}

// Check rejects values that no plan can be made with.
func (p *PlanFlags) Check() error {
	switch scheduler.GroupBy(p.groupBy) {
	case scheduler.ByPartition, scheduler.ByRequirements:
	default:
		return cli.UsageErrorf("--group-by %s: it is partition or resource-requirements", p.groupBy)
	}
	switch scheduler.WalltimeStrategy(p.strategy) {
	case scheduler.MaxJobRuntime, scheduler.MaxPartitionTime:
	default:
		return cli.UsageErrorf("--walltime-strategy %s: it is max-job-runtime or max-partition-time", p.strategy)
	}
	if !(p.multiplier >= 1 && p.multiplier <= 1000) {
		return cli.UsageErrorf("--walltime-multiplier %g: it is 1 at least", p.multiplier)
	}
	return nil
}

// Request is what the flags ask of the daemon. The site is that of this machine and its
// configuration; where that is not known, which siteErr says, the daemon's counts.
func (p *PlanFlags) Request(ctx context.Context, a *cli.Factory) (o api.SchedulerOptions, siteErr, err error) {
	o = api.SchedulerOptions{
		Account: p.account, GroupBy: p.groupBy, WalltimeStrategy: p.strategy, WalltimeMultiplier: &p.multiplier, SingleAllocation: p.single,
	}
	here, siteErr := sites.Find(ctx, a, p.Profile)
	switch {
	case siteErr == nil:
		o.Site, err = json.Marshal(here)
	case p.Profile != "":
		err = siteErr
	}
	return o, siteErr, err
}

// Options are for jobs of a workflow with such settings.
func (p *PlanFlags) Options(account string, config *workflow.ExecutionConfig) scheduler.GenerateOptions {
	return scheduler.GenerateOptions{
		Account: account, GroupBy: scheduler.GroupBy(p.groupBy), Strategy: scheduler.WalltimeStrategy(p.strategy),
		Multiplier: p.multiplier, SingleAllocation: p.single,
		WorkerPerNode: config == nil || config.Mode == "" || config.Mode == "direct",
	}
}

// AccountFor is the one that allocations of a workflow are charged to.
func (p *PlanFlags) AccountFor(defaults []byte, site *siteconfigs.Site) (string, error) {
	options, err := sbatchtemplates.ParseDefaults(defaults)
	if err != nil {
		return "", err
	}
	given := p.account
	for _, o := range options {
		if o.Name == "account" {
			given = cli.FirstOf(given, o.Value)
		}
	}
	if given = cli.FirstOf(given, site.DefaultAccount); given == "" {
		return "", cli.UsageErrorf("no account is set; set --account, or account in slurm_defaults")
	}
	return given, nil
}
