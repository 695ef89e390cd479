package scheduler

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	siteconfigs "github.com/torc-slurm/torc-slurm/site-configs"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// Prospects is what a plan of allocations asks Slurm; a *slurm.Client answers.
type Prospects interface {
	Nodes(ctx context.Context) ([]slurm.NodeGroup, error)
	Queue(ctx context.Context, query slurm.QueueQuery) (slurm.Queue, error)
	// Estimate returns when Slurm expects a job to start if it were submitted now.
	Estimate(ctx context.Context, s slurm.Submission) (time.Time, error)
}

// AllocationPlanOptions determine how allocations are planned.
type AllocationPlanOptions struct {
	GenerateOptions
	Prospects   Prospects // nil: Slurm is asked nothing
	NoEstimates bool      // of when allocations would start
	Now         time.Time
}

// PlanAllocations says which allocations work needs on a site, why these, and what they
// cost. Slurm is asked how busy it is and, for groups that need several nodes, when it
// would start them; where it does not answer, the plan is made without it. An error is one
// of Generate.
func PlanAllocations(ctx context.Context, work []Work, site *siteconfigs.Site, o AllocationPlanOptions) (compute.AllocationPlan, error) {
	p := allocationPlan{o: o}
	p.AllocationPlan = compute.AllocationPlan{
		Cluster: []compute.PartitionState{}, Recommendations: []compute.AllocationAdvice{}, Groups: []compute.AllocationGroup{}, Warnings: []string{},
		SiteName: site.Name, SiteTitle: site.Title(), Account: o.Account,
	}
	groups, warnings, err := Generate(work, site, o.GenerateOptions)
	if err != nil {
		return p.AllocationPlan, err
	}
	p.Warnings = append(p.Warnings, warnings...)
	n := &p.Analysis
	n.TotalJobs, n.TotalInstances, n.ResourceGroups = len(work), len(work), len(groups)
	n.Depth, n.MaxParallelism, n.AtLevel = Width(work)
	loads := p.loads(ctx)
	for i := range groups {
		p.advise(ctx, &groups[i], loads[groups[i].Partition], ChargePerNodeHour(&groups[i], site))
	}
	return p.AllocationPlan, nil
}

// ChargePerNodeHour is what a site charges for an hour of a node of a group, in its own unit.
func ChargePerNodeHour(g *Generated, site *siteconfigs.Site) float64 {
	if g.Scheduler.Gres != "" {
		return site.ChargeFactorGPU
	}
	return site.ChargeFactorCPU
}

// allocationPlan is a plan that is being made.
type allocationPlan struct {
	o AllocationPlanOptions
	compute.AllocationPlan
}

// loads asks Slurm how busy its partitions are; where it does not answer for the queue, the
// nodes alone count.
func (p *allocationPlan) loads(ctx context.Context) map[string]PartitionLoad {
	if p.o.Prospects == nil {
		return nil
	}
	nodes, err := p.o.Prospects.Nodes(ctx)
	var queue slurm.Queue
	if err == nil {
		queue, err = p.o.Prospects.Queue(ctx, slurm.QueueQuery{})
	}
	if err != nil {
		p.Warnings = append(p.Warnings, fmt.Sprintf("Slurm does not say how busy it is: %v", err))
		queue.Jobs = nil
	}
	loads := Loads(nodes, queue.Jobs)
	for _, name := range slices.Sorted(maps.Keys(loads)) {
		l := loads[name]
		p.Cluster = append(p.Cluster, compute.PartitionState{
			Partition: name, Idle: l.Idle, Mixed: l.Mixed, Allocated: l.Allocated, Down: l.Down, Total: l.Total,
			PendingJobs: l.PendingJobs, PendingNodes: l.PendingNodes, RunningJobs: l.RunningJobs,
		})
	}
	return loads
}

// advise says how to request the nodes of a group.
func (p *allocationPlan) advise(ctx context.Context, g *Generated, load PartitionLoad, chargePerNodeHour float64) {
	s := &g.Scheduler
	ideal := int64(0)
	for _, w := range g.Waves {
		ideal = max(ideal, w.Allocations*s.Nodes)
	}
	p.Groups = append(p.Groups, compute.AllocationGroup{
		Name: s.Name, Partition: g.Partition, Reason: g.Reason, JobCount: len(g.Jobs), Walltime: s.Walltime, IdealNodes: ideal,
	})
	walltime, _ := slurm.ParseDuration(s.Walltime) // written by Generate
	r := compute.AllocationAdvice{Group: s.Name, Partition: g.Partition, Walltime: s.Walltime, JobCount: len(g.Jobs), Estimates: []compute.StartEstimate{}}
	var waits Waits
	if p.o.Prospects != nil && !p.o.NoEstimates && ideal > 1 {
		waits.One, waits.All = p.estimate(ctx, &r, s, 1), p.estimate(ctx, &r, s, ideal)
	}
	advice := Advise(ideal, load, walltime, waits)
	r.Allocations, r.Nodes, r.Strategy, r.Reason = advice.Allocations, advice.Nodes, advice.Strategy, advice.Reason
	r.TotalNodes = r.Allocations * r.Nodes
	r.NodeSeconds = r.TotalNodes * int64(walltime/time.Second)
	p.NodeSeconds += r.NodeSeconds
	p.Charge += float64(r.NodeSeconds) / 3600 * chargePerNodeHour
	p.Recommendations = append(p.Recommendations, r)
}

// estimate asks Slurm how long an allocation of so many nodes would wait; nil if it does
// not say.
func (p *allocationPlan) estimate(ctx context.Context, r *compute.AllocationAdvice, s *workflow.SlurmSchedulerDefinition, nodes int64) *time.Duration {
	args := []string{"--account=" + s.Account, "--partition=" + r.Partition, "--time=" + s.Walltime, fmt.Sprintf("--nodes=%d", nodes), "--mem=" + s.Mem}
	if s.Gres != "" {
		args = append(args, "--gres="+s.Gres)
	}
	args = append(args, strings.Fields(s.Extra)...) // Generate writes plain options
	start, err := p.o.Prospects.Estimate(ctx, slurm.Submission{Script: []byte("#!/bin/sh\n"), Args: args})
	if err != nil {
		return nil
	}
	wait := max(0, start.Sub(p.o.Now))
	r.Estimates = append(r.Estimates, compute.StartEstimate{Nodes: nodes, Start: start.Format(time.RFC3339), WaitSeconds: int64(wait / time.Second)})
	return &wait
}
