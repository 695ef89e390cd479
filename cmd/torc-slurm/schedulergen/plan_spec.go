package schedulergen

import (
	"context"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/sites"
	"github.com/torc-slurm/torc-slurm/scheduler"
	"github.com/torc-slurm/torc-slurm/spec"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// SpecPlan says how allocations are planned for a specification.
type SpecPlan struct {
	PlanFlags
	Partition   string // for all jobs; empty: the best for each
	Offline     bool   // ask Slurm nothing
	NoEstimates bool   // do not ask Slurm when allocations would start
}

// Charge sets the account to charge.
func (p *PlanFlags) Charge(account string) { p.account = account }

// PlanSpec plans allocations for the jobs of a specification on this machine. It returns the
// errors of sites.Find and AccountFor, and those of scheduler.PlanAllocations.
func PlanSpec(ctx context.Context, a *cli.Factory, loaded *spec.Result, p *SpecPlan) (*compute.AllocationPlan, error) {
	site, err := sites.Find(ctx, a, p.Profile)
	if err != nil {
		return nil, err
	}
	account, err := p.AccountFor(loaded.Definition.SlurmDefaults, site)
	if err != nil {
		return nil, err
	}
	o := scheduler.AllocationPlanOptions{
		GenerateOptions: p.Options(account, loaded.Definition.ExecutionConfig), NoEstimates: p.NoEstimates, Now: a.Now(),
	}
	o.Partition = p.Partition
	if !p.Offline {
		o.Prospects = a.SlurmClient()
	}
	plan, err := scheduler.PlanAllocations(ctx, scheduler.WorkOf(loaded.Definition), site, o)
	plan.Analysis.TotalJobs = loaded.Summary.JobCountBeforeExpansion
	return &plan, err
}
