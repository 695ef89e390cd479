package slurmcmd

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/schedulergen"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/sites"
	"github.com/torc-slurm/torc-slurm/scheduler"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/spec"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// adviceFlags are those of slurm plan-allocations.
type adviceFlags struct {
	schedulergen.PlanFlags
	partition             string
	offline, skipTestOnly bool
}

// newPlan makes the command that says how to ask for the
// allocations of a specification; it has two names.
func newPlan(a *cli.Factory, name string) *cobra.Command {
	var flags adviceFlags
	cmd := &cobra.Command{
		Use:   name + " SPEC",
		Short: "Say which allocations suit a specification, and how busy the cluster is",
		Long: `Say which allocations the jobs of a specification would need, in which partitions,
and whether to ask for few large or many small ones: by the nodes that are idle,
the jobs that wait, and Slurm's own estimates (sbatch --test-only). Nothing is
submitted. ` + "`torc-slurm submit`" + ` does not need this: it asks for what is needed when it is
needed.`,
		Example: `  torc-slurm slurm ` + name + ` sweep.yaml
  torc-slurm slurm ` + name + ` --offline --profile kestrel -a myproject sweep.yaml`,
		Args:              cobra.ExactArgs(1),
		Annotations:       cli.Exits("3 there is no such specification or cluster", cli.ExitInvalidSpec),
		ValidArgsFunction: cli.CompleteSpecs,
	}
	flags.Add(cmd)
	f := cmd.Flags()
	f.StringVarP(&flags.partition, "partition", "p", "", "`PARTITION` for all jobs (default: the best for each)")
	f.BoolVar(&flags.offline, "offline", false, "ask Slurm nothing")
	f.BoolVar(&flags.skipTestOnly, "skip-test-only", false, "do not ask Slurm for estimates")
	cmd.RunE = cli.Checked(flags.Check, func(cmd *cobra.Command, args []string) error {
		return runSlurmPlan(cmd.Context(), a, args[0], &flags)
	})
	return cmd
}

// allocationPlan is what the command says in JSON.
type allocationPlan struct {
	Analysis        workflowAnalysis  `json:"workflow_analysis"`
	Cluster         []partitionState  `json:"cluster_state"`
	Recommendations []recommendation  `json:"recommendations"`
	Warnings        []string          `json:"warnings"`
	Groups          []allocationGroup `json:"resource_groups"`
	Profile         string            `json:"profile_name"`
	ProfileTitle    string            `json:"profile_display_name"`
	Account         string            `json:"account"`
}

// workflowAnalysis is how many jobs there are, and how many at a time.
type workflowAnalysis struct {
	TotalJobs      int `json:"total_jobs"`      // entries of the specification
	TotalInstances int `json:"total_instances"` // jobs that they stand for
	Depth          int `json:"dependency_depth"`
	MaxParallelism int `json:"max_parallelism"`
	AtLevel        int `json:"max_parallelism_level"`
	ResourceGroups int `json:"resource_groups"`
}

// partitionState is how busy a partition is.
type partitionState struct {
	Partition   string `json:"partition"`
	Idle        int64  `json:"idle"`
	Mixed       int64  `json:"mixed"`
	Allocated   int64  `json:"allocated"`
	Down        int64  `json:"down"`
	Total       int64  `json:"total"`
	PendingJobs int64  `json:"pending_jobs"`
	PendingNode int64  `json:"pending_nodes"`
	RunningJobs int64  `json:"running_jobs"`
}

// allocationGroup is jobs that share a scheduler.
type allocationGroup struct {
	Name       string `json:"name"`
	Partition  string `json:"partition"`
	JobCount   int    `json:"job_count"`
	Walltime   string `json:"walltime"`
	IdealNodes int64  `json:"ideal_nodes"`
}

// recommendation is how to ask for the nodes of a group.
type recommendation struct {
	Group       string     `json:"group_name"`
	Partition   string     `json:"partition"`
	Allocations int64      `json:"num_allocations"`
	Nodes       int64      `json:"nodes_per_allocation"`
	TotalNodes  int64      `json:"total_nodes"`
	Strategy    string     `json:"strategy"`
	Reason      string     `json:"reason"`
	Walltime    string     `json:"walltime"`
	JobCount    int        `json:"job_count"`
	Estimates   []estimate `json:"sbatch_estimates"`
}

// estimate is Slurm's word on when an allocation would start.
type estimate struct {
	Nodes       int64  `json:"nodes"`
	Start       string `json:"start_time"` // RFC 3339
	WaitSeconds int64  `json:"wait_seconds"`
}

func runSlurmPlan(ctx context.Context, a *cli.Factory, path string, flags *adviceFlags) error {
	loaded, _, err := loadSpecText(a, path)
	if err != nil {
		return err
	}
	site, err := sites.Find(ctx, a, flags.Profile)
	if err != nil {
		return err
	}
	p := allocationPlan{Cluster: []partitionState{}, Recommendations: []recommendation{}, Groups: []allocationGroup{}, Profile: site.Name, ProfileTitle: site.Title()}
	if p.Account, err = flags.AccountFor(loaded.Definition.SlurmDefaults, site); err != nil {
		return err
	}
	options := flags.Options(p.Account, loaded.Definition.ExecutionConfig)
	options.Partition = flags.partition
	work := scheduler.WorkOf(loaded.Definition)
	groups, warnings, err := scheduler.Generate(work, site, options)
	if err != nil {
		return err
	}
	p.Warnings = cli.NotNil(warnings)
	p.Analysis = analyse(loaded, work)
	p.Analysis.ResourceGroups = len(groups)
	client := a.SlurmClient()
	loads := make(map[string]scheduler.PartitionLoad)
	if !flags.offline {
		if loads, err = partitionLoads(ctx, client); err != nil {
			p.Warnings = append(p.Warnings, fmt.Sprintf("Slurm does not say how busy it is: %v", err))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(loads)) {
		l := loads[name]
		p.Cluster = append(p.Cluster, partitionState{name, l.Idle, l.Mixed, l.Allocated, l.Down, l.Total, l.PendingJobs, l.PendingNodes, l.RunningJobs})
	}
	for i := range groups {
		p.advise(ctx, client, &groups[i], loads[groups[i].Partition], flags.offline || flags.skipTestOnly, a.Now())
	}
	return a.ShowRecord(p, p.write)
}

// analyse counts jobs and how many of them can run at the same time.
func analyse(loaded *spec.Result, work []scheduler.Work) workflowAnalysis {
	w := workflowAnalysis{TotalJobs: loaded.Summary.JobCountBeforeExpansion, TotalInstances: len(work)}
	w.Depth, w.MaxParallelism, w.AtLevel = scheduler.Width(work)
	return w
}

// partitionLoads asks Slurm how busy its partitions are; where it does not answer for the
// queue, the nodes alone count.
func partitionLoads(ctx context.Context, client *slurm.Client) (map[string]scheduler.PartitionLoad, error) {
	nodes, err := client.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	queue, err := client.Queue(ctx, slurm.QueueQuery{})
	if err != nil {
		return scheduler.Loads(nodes, nil), err
	}
	return scheduler.Loads(nodes, queue.Jobs), nil
}

// advise says how to ask for the nodes of a group.
func (p *allocationPlan) advise(ctx context.Context, client *slurm.Client, g *scheduler.Generated, load scheduler.PartitionLoad, blind bool, now time.Time) {
	s := &g.Scheduler
	ideal := int64(0) // at the widest place
	for _, w := range g.Waves {
		ideal = max(ideal, w.Allocations*s.Nodes)
	}
	p.Groups = append(p.Groups, allocationGroup{s.Name, g.Partition, len(g.Jobs), s.Walltime, ideal})
	walltime, _ := slurm.ParseDuration(s.Walltime) // written by Generate
	r := recommendation{Group: s.Name, Partition: g.Partition, Walltime: s.Walltime, JobCount: len(g.Jobs), Estimates: []estimate{}}
	var waits scheduler.Waits
	if !blind && ideal > 1 {
		waits.One, waits.All = r.ask(ctx, client, s, 1, now), r.ask(ctx, client, s, ideal, now)
	}
	advice := scheduler.Advise(ideal, load, walltime, waits)
	r.Allocations, r.Nodes, r.Strategy, r.Reason = advice.Allocations, advice.Nodes, advice.Strategy, advice.Reason
	r.TotalNodes = r.Allocations * r.Nodes
	p.Recommendations = append(p.Recommendations, r)
}

// ask asks Slurm when an allocation of so many nodes would start; nil if it does
// not say.
func (r *recommendation) ask(ctx context.Context, client *slurm.Client, s *workflow.SlurmSchedulerDefinition, nodes int64, now time.Time) *time.Duration {
	args := []string{"--account=" + s.Account, "--partition=" + r.Partition, "--time=" + s.Walltime, fmt.Sprintf("--nodes=%d", nodes), "--mem=" + s.Mem}
	if s.Gres != "" {
		args = append(args, "--gres="+s.Gres)
	}
	args = append(args, strings.Fields(s.Extra)...) // Generate writes plain options
	start, err := client.Estimate(ctx, slurm.Submission{Script: []byte("#!/bin/sh\n"), Args: args})
	if err != nil {
		return nil
	}
	wait := max(0, start.Sub(now))
	r.Estimates = append(r.Estimates, estimate{nodes, start.Format(time.RFC3339), int64(wait / time.Second)})
	return &wait
}

func (p allocationPlan) write(w io.Writer) {
	n := p.Analysis
	fmt.Fprintf(w, "%s on %s, account %s: at most %d at the same time, %s after one another\n", workflow.CountOf(int64(n.TotalInstances), "job", "jobs"),
		p.ProfileTitle, p.Account, n.MaxParallelism, workflow.CountOf(int64(n.Depth), "step", "steps"))
	for _, s := range p.Cluster {
		fmt.Fprintf(w, "Partition %s: %d of %d nodes idle, %d mixed, %d allocated, %d down; %d jobs run, %d wait for %d nodes\n",
			s.Partition, s.Idle, s.Total, s.Mixed, s.Allocated, s.Down, s.RunningJobs, s.PendingJobs, s.PendingNode)
	}
	for _, r := range p.Recommendations {
		fmt.Fprintf(w, "%s: %s for %s of %s in partition %s, %s: %s\n", r.Group, workflow.CountOf(int64(r.JobCount), "job", "jobs"),
			workflow.CountOf(r.Allocations, "allocation", "allocations"), workflow.CountOf(r.Nodes, "node", "nodes"), r.Partition, r.Walltime, r.Reason)
		for _, e := range r.Estimates {
			fmt.Fprintf(w, "  Slurm would start %s in %s\n", workflow.CountOf(e.Nodes, "node", "nodes"), cli.ClockTime(cli.Seconds(float64(e.WaitSeconds))))
		}
	}
	for _, warning := range p.Warnings {
		fmt.Fprintf(w, "Warning: %s\n", warning)
	}
}
