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

// PlanFlags are the flags that say how schedulers are planned for jobs.
type PlanFlags struct {
	account, Profile string
	single           bool
	groupBy          string
	strategy         string
	multiplier       float64
}

// Add adds the flags to a command.
func (p *PlanFlags) Add(cmd *cobra.Command) {
	p.Defaults()
	f := cmd.Flags()
	f.StringVarP(&p.account, "account", "a", "", "`ACCOUNT` to charge")
	f.StringVar(&p.Profile, "profile", "", "`NAME` of the cluster (default: the one of this machine)")
	f.BoolVar(&p.single, "single-allocation", false, "plan one allocation with many nodes instead of many with one node")
	f.StringVar(&p.groupBy, "group-by", p.groupBy, "plan one scheduler per `WHAT`: partition or resource-requirements")
	f.StringVar(&p.strategy, "walltime-strategy", p.strategy, "`HOW` to choose the walltime: max-job-runtime or max-partition-time")
	f.Float64Var(&p.multiplier, "walltime-multiplier", p.multiplier, "factor for max-job-runtime")
	cli.CompleteWords(cmd, "group-by", string(scheduler.ByPartition), string(scheduler.ByRequirements))
	cli.CompleteWords(cmd, "walltime-strategy", string(scheduler.MaxJobRuntime), string(scheduler.MaxPartitionTime))
}

// Defaults sets the values that the flags have if they are not given.
func (p *PlanFlags) Defaults() {
	p.groupBy, p.strategy, p.multiplier = string(scheduler.ByPartition), string(scheduler.MaxJobRuntime), 1.5
}

// Check returns a usage error for values with which no plan can be made.
func (p *PlanFlags) Check() error {
	switch scheduler.GroupBy(p.groupBy) {
	case scheduler.ByPartition, scheduler.ByRequirements:
	default:
		return cli.UsageErrorf("--group-by must be partition or resource-requirements, not %q", p.groupBy)
	}
	switch scheduler.WalltimeStrategy(p.strategy) {
	case scheduler.MaxJobRuntime, scheduler.MaxPartitionTime:
	default:
		return cli.UsageErrorf("--walltime-strategy must be max-job-runtime or max-partition-time, not %q", p.strategy)
	}
	if !(p.multiplier >= 1 && p.multiplier <= 1000) {
		return cli.UsageErrorf("--walltime-multiplier must be from 1 to 1000, not %g", p.multiplier)
	}
	return nil
}

// Request returns the options that the daemon plans with. They have the site of --profile or
// of this machine. If this machine belongs to no known site, siteErr says why, and the daemon
// uses its own site. err is the error of an unknown --profile.
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

// Options returns the options for the jobs of a workflow with this execution configuration.
func (p *PlanFlags) Options(account string, config *workflow.ExecutionConfig) scheduler.GenerateOptions {
	return scheduler.GenerateOptions{
		Account: account, GroupBy: scheduler.GroupBy(p.groupBy), Strategy: scheduler.WalltimeStrategy(p.strategy),
		Multiplier: p.multiplier, SingleAllocation: p.single,
		WorkerPerNode: config == nil || config.Mode == "" || config.Mode == "direct",
	}
}

// AccountFor returns the account to charge for a workflow: that of the flags, of its Slurm
// defaults, or of the site. It returns a usage error if there is none.
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
