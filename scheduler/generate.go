package scheduler

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/torc-slurm/torc-slurm/site-configs"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/graph"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// GroupBy says which jobs share a generated scheduler.
type GroupBy string

// The ways to group.
const (
	ByPartition    GroupBy = "partition"
	ByRequirements GroupBy = "resource-requirements"
)

// WalltimeStrategy determines the walltime of a generated scheduler.
type WalltimeStrategy string

// The strategies.
const (
	MaxJobRuntime    WalltimeStrategy = "max-job-runtime"    // the longest job, times Multiplier
	MaxPartitionTime WalltimeStrategy = "max-partition-time" // as long as the partition allows
)

// GenerateOptions determine how schedulers are generated.
type GenerateOptions struct {
	Account   string
	Partition string        // for all; chosen for each job if empty
	Walltime  time.Duration // for all; by the strategy if 0
	GroupBy   GroupBy
	Strategy  WalltimeStrategy
	// Multiplier is the factor of MaxJobRuntime.
	Multiplier float64
	// SingleAllocation requests one allocation of many nodes instead of many of
	// one node.
	SingleAllocation bool
	// WorkerPerNode: jobs are processes of their runner, so an allocation of
	// many nodes needs one on each.
	WorkerPerNode bool
	Margins       placement.Margins // those of Settings if not given
	// Stamp is part of the names of schedulers that are generated for a workflow that
	// already has some.
	Stamp string
}

// Work is a job that needs an allocation.
type Work struct {
	Name         string // for messages
	Requirements workflow.ResourceRequirements
	// Level is the length of the longest chain of jobs that have to end before this one.
	Level   int32
	Labeled bool // it waits for a runner with its labels
	Login   bool // it runs on the daemon's host and needs no allocation
}

// Generated is a scheduler for a group of jobs.
type Generated struct {
	Scheduler workflow.SlurmSchedulerDefinition
	Partition string // set even if the scheduler does not name it
	Reason    string // for the partition
	Deferred  bool   // its jobs wait for others
	Jobs      []int  // indexes of the work, ascending
	Waves     []Wave
	// WorkerPerNode: one runner per node has to be started.
	WorkerPerNode bool
}

// Wave are the jobs of a group that become ready together, and how many
// allocations they need. A group has one per level: an action for all of them
// would wait for jobs that wait for its own allocations.
type Wave struct {
	Jobs        []int
	Allocations int64
}

// Allocations returns the number for all waves.
func (g *Generated) Allocations() (n int64) {
	for _, w := range g.Waves {
		n += w.Allocations
	}
	return n
}

// WorkOf returns the jobs of a definition as work.
func WorkOf(d *workflow.Definition) []Work {
	byName := map[string]workflow.ResourceRequirements{"": defaultNeed, workflow.DefaultRequirements: defaultNeed}
	for _, r := range d.Requirements {
		byName[r.Name] = r
	}
	deps := graph.Dependencies(d)
	levels := graph.Levels(len(d.Jobs), func(i int) []int32 { return deps[i] })
	work := make([]Work, len(d.Jobs))
	for i := range d.Jobs {
		work[i] = Work{Name: d.Jobs[i].Name, Requirements: byName[d.Jobs[i].Requirements], Level: levels[i], Labeled: len(d.Jobs[i].Labels) > 0, Login: d.Jobs[i].Login}
	}
	return work
}

// defaultNeed are the requirements of a job that declares none.
var defaultNeed = workflow.ResourceRequirements{Name: workflow.DefaultRequirements, NumCPUs: 1, NumNodes: 1, Memory: "1m", Runtime: "PT1M"}

// class are jobs with the same requirements, and where they fit.
type class struct {
	need    siteconfigs.Need
	runtime time.Duration
	choice  siteconfigs.Choice
}

// groupKey is what the jobs of a group have in common.
type groupKey struct {
	requirements string // of all jobs, if they are grouped by requirements
	partition    string
	node         siteconfigs.NodeType // the part of it that an allocation may have
	nodes        int64                // of each job
	deferred     bool
}

// group are jobs that share a scheduler.
type group struct {
	key     groupKey
	choice  siteconfigs.Choice
	jobs    []int
	classes map[string]*class
}

// Generate returns schedulers for work on a site. Jobs that fit nowhere, and
// jobs with labels, get none; the warnings say so.
func Generate(work []Work, site *siteconfigs.Site, o GenerateOptions) ([]Generated, []string, error) {
	g := generator{site: site, options: o, classes: make(map[string]*class)}
	if o.Multiplier < 1 || math.IsInf(o.Multiplier, 0) || math.IsNaN(o.Multiplier) {
		return nil, nil, workflow.Errorf(workflow.CodeInvalid, "the walltime multiplier %g is less than 1", o.Multiplier)
	}
	g.options.Margins = Settings{Margins: o.Margins}.withDefaults().Margins
	labeled := 0
	for i := range work {
		switch {
		case work[i].Login:
			continue
		case work[i].Labeled:
			labeled++
			continue
		}
		if err := g.add(i, &work[i]); err != nil {
			return nil, nil, err
		}
	}
	if labeled > 0 {
		g.warn("jobs with labels get no scheduler (%d): start runners with their labels", labeled)
	}
	names := make(map[string]int)
	var all []Generated
	for _, group := range g.groups {
		all = append(all, g.scheduler(group, work, names))
	}
	return all, g.warnings, nil
}

// generator collects groups in the order of their first jobs.
type generator struct {
	site     *siteconfigs.Site
	options  GenerateOptions
	classes  map[string]*class // by the name of requirements; nil if they fit nowhere
	groups   []*group
	warnings []string
}

func (g *generator) warn(format string, args ...any) {
	g.warnings = append(g.warnings, fmt.Sprintf(format, args...))
}

// add puts a job into its group.
func (g *generator) add(i int, w *Work) error {
	name := w.Requirements.Name
	c, known := g.classes[name]
	if !known {
		var err error
		if c, err = g.class(&w.Requirements); err != nil {
			return err
		}
		g.classes[name] = c
	}
	if c == nil {
		return nil
	}
	key := groupKey{partition: c.choice.Partition.Name, node: g.bounded(&c.choice, c.need.Nodes), nodes: c.need.Nodes, deferred: w.Level > 0}
	if g.options.GroupBy == ByRequirements {
		key.requirements = name
	}
	at := slices.IndexFunc(g.groups, func(x *group) bool { return x.key == key })
	if at < 0 {
		at = len(g.groups)
		g.groups = append(g.groups, &group{key: key, choice: c.choice, classes: make(map[string]*class)})
	}
	g.groups[at].jobs = append(g.groups[at].jobs, i)
	g.groups[at].classes[name] = c
	return nil
}

// class returns the class of requirements with its partition; nil if there is none.
func (g *generator) class(r *workflow.ResourceRequirements) (*class, error) {
	memory, err := workflow.ParseMemory(r.Memory)
	if err != nil {
		return nil, fmt.Errorf("resource requirements %s: %w", r.Name, err)
	}
	seconds, err := workflow.ParseRuntime(r.Runtime)
	if err != nil {
		return nil, fmt.Errorf("resource requirements %s: %w", r.Name, err)
	}
	c := &class{runtime: time.Duration(seconds) * time.Second, need: siteconfigs.Need{
		CPUs: r.NumCPUs, MemoryMB: (memory + slurm.MiB - 1) / slurm.MiB, GPUs: r.NumGPUs, Nodes: max(1, r.NumNodes),
		Account: g.options.Account, Partition: g.options.Partition,
	}}
	var refusals []siteconfigs.Refusal
	if given := g.options.Walltime; given > 0 {
		if !g.options.Margins.Fits(c.runtime, given) {
			g.warn("jobs with the resource requirements %s may run for %s, which is too long for a walltime of %s", r.Name, c.runtime, given)
		}
		c.need.Walltime = given
		c.choice, refusals = siteconfigs.Best(g.site, c.need)
	} else if c.runtime > 0 {
		c.choice, refusals = bestFor(g.site, &c.need, c.runtime, g.options.Margins)
	} else {
		c.choice, refusals = siteconfigs.Best(g.site, c.need)
	}
	if c.choice.Partition == nil {
		var why []string
		for _, refusal := range refusals {
			if g.options.Partition == "" || refusal.Partition == g.options.Partition {
				why = append(why, refusal.Partition+": "+refusal.Reason)
			}
		}
		g.warn("jobs with the resource requirements %s get no scheduler, they fit nowhere: %s", r.Name, strings.Join(why, "; "))
		return nil, nil
	}
	return c, nil
}

// scheduler returns the scheduler for a group.
func (g *generator) scheduler(x *group, work []Work, names map[string]int) Generated {
	p := x.choice.Partition
	walltime := g.walltime(x)
	result := Generated{Partition: p.Name, Reason: x.choice.Reason, Deferred: x.key.deferred, Jobs: x.jobs}
	loads := g.loads(x, work, walltime)
	shape := x.shape(loads)
	nodes := x.key.nodes
	for _, l := range loads {
		result.Waves = append(result.Waves, Wave{Jobs: l.jobs, Allocations: l.allocations()})
	}
	if g.options.SingleAllocation {
		nodes, result.WorkerPerNode = g.gather(&result, nodes, shape)
	}
	base := cmp.Or(x.key.requirements, p.Name)
	result.Scheduler = workflow.SlurmSchedulerDefinition{
		Name: g.name(base, x.key.deferred, names), Account: g.options.Account, Nodes: nodes, Walltime: slurm.FormatDuration(walltime),
		Mem: slurm.FormatMemory(shape.memoryMB * slurm.MiB), QOS: p.DefaultQOS,
	}
	if shape.gpus > 0 {
		result.Scheduler.Gres = fmt.Sprintf("gpu:%d", shape.gpus)
	}
	if p.Shared {
		result.Scheduler.Extra = fmt.Sprintf("--ntasks-per-node=1 --cpus-per-task=%d", shape.cpus)
	}
	if x.choice.Explicit {
		result.Scheduler.Partition = p.Name
	}
	return result
}

// name returns the name of a scheduler; further ones of the same kind get a
// number.
func (g *generator) name(base string, deferred bool, names map[string]int) string {
	if deferred {
		base += "_deferred"
	}
	names[base]++
	if n := names[base]; n > 1 {
		base = fmt.Sprintf("%s_%d", base, n)
	}
	if g.options.Stamp != "" {
		return base + "_regen_" + g.options.Stamp
	}
	return base + "_scheduler"
}
