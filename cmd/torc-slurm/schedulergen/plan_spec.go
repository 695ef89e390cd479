package schedulergen

import (
	"context"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/sites"
	"github.com/torc-slurm/torc-slurm/scheduler"
	"github.com/torc-slurm/torc-slurm/spec"
)

// SpecPlan says how allocations are planned for a specification.
type SpecPlan struct {
	PlanFlags
	Partition   string // for all jobs; empty: the best for each
	Prefer      string // time, cost or balanced; empty: balanced
	NoEstimates bool   // do not ask Slurm when allocations would start
}

// Charge sets the account to charge.
func (p *PlanFlags) Charge(account string) { p.account = account }

// PlanSpec makes the daemon plan the allocations of a specification.
func PlanSpec(ctx context.Context, a *cli.Factory, c *client.Client, loaded *spec.Result, p *SpecPlan) (*api.AllocationPlan, error) {
	options, siteErr, err := p.Request(ctx, a)
	if err != nil {
		return nil, err
	}
	options.Partition = p.Partition
	plan, err := c.Workflows.PlanDefinition(ctx, loaded.Definition, &api.AllocationPlanRequest{SchedulerOptions: options, NoEstimates: p.NoEstimates, Prefer: p.Prefer})
	if err != nil {
		return nil, Refusal(err, siteErr)
	}
	plan.Analysis.TotalJobs = loaded.Summary.JobCountBeforeExpansion
	return plan, nil
}

// PlanOffline plans the allocations of a specification in this process, without Slurm. It
// returns the errors of sites.Find and AccountFor, and those of scheduler.PlanAllocations.
func PlanOffline(ctx context.Context, a *cli.Factory, loaded *spec.Result, p *SpecPlan) (*api.AllocationPlan, error) {
	site, err := sites.Find(ctx, a, p.Profile)
	if err != nil {
		return nil, err
	}
	account, err := p.AccountFor(loaded.Definition.SlurmDefaults, site)
	if err != nil {
		return nil, err
	}
	o := scheduler.AllocationPlanOptions{
		GenerateOptions: p.Options(account, loaded.Definition.ExecutionConfig), NoEstimates: true, Now: a.Now(),
	}
	o.Partition = p.Partition
	plan, err := scheduler.PlanAllocations(ctx, scheduler.WorkOf(loaded.Definition), site, o)
	plan.Analysis.TotalJobs = loaded.Summary.JobCountBeforeExpansion
	return &api.AllocationPlan{AllocationPlan: plan}, err
}
