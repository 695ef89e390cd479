package scheduler

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/torc-slurm/torc-slurm/scheduler/forecast"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// Pool is where allocations can be requested: a slurm_scheduler of the workflow
// or, without one, a partition of the site.
type Pool struct {
	Name        string // unique, and readable, since reasons contain it
	ActionID    int64  // the AutoSchedule that may use it
	SchedulerID *int64
	Node        Resources // what a node has at most for jobs
	// MemoryPerCPU is what is requested at least with each CPU of a node.
	MemoryPerCPU int64
	Place        forecast.Place // where its allocations may start
	// Shared: only part of a node is requested. Otherwise whole nodes are.
	Shared bool
	// Asks is what the user wants to request on each node, where not 0. More is
	// requested where a job needs more.
	Asks     Resources
	Nodes    int64 // per allocation, as the user or the site requires; 0: as jobs need
	MaxNodes int64 // 0: no limit
	// Most is what an allocation may have in total, where not 0.
	Most Resources
	// Walltime is what the user wants to request, 0: as the jobs need. A job that
	// needs more, such as a retry with a corrected runtime, gets more.
	Walltime    time.Duration
	MaxWalltime time.Duration // 0: no limit
	Labels      []string      // of the runners started there, normalized
	Hosts       []string      // names of the nodes that it may use; nil: not known
	Required    []string      // of these, the nodes that each allocation gets, sorted
	Spares      []Spare       // other partitions that its allocations may use
	Serialize   bool          // one allocation at a time: each waits for the previous one
	Room        *int          // how many more allocations the site accepts now; nil: no limit known
	Hold        *Hold         // nil: nothing holds submissions back
	Failures    Failures
}

// Hold is why nothing should be requested before some time.
type Hold struct {
	Until  time.Time
	Reason string
	// Keep: pending allocations keep their place in the queue, although the hold does not
	// expire by itself.
	Keep bool
	// Limit: the user has reached a limit of this pool. Other pools may accept more.
	Limit bool
}

// lasts reports whether a user has to end the hold, and pending allocations are not kept for
// that.
func (h *Hold) lasts() bool { return h.Until.IsZero() && !h.Keep }

// Failures are allocations of a pool, in a row, that were permanently refused or
// ended without having done work.
type Failures struct {
	InARow  int
	Last    time.Time
	Reason  string // of the last
	Refused bool   // the last was refused by Slurm
	// Nodes are the nodes of failed allocations with one node, sorted: they may be the cause.
	Nodes []string
	// Wide: the latest allocation with several nodes did no work. One of its nodes may be the
	// cause, so jobs get no more nodes than they need.
	Wide bool
}

// misfit returns why a job can have no allocation here; empty if it can.
func (p *Pool) misfit(d *Demand, set *Settings) string {
	most := p.share(p.Node.most(p.Asks), p.nodes(d))
	node := placement.FreeNode{CPUs: most.CPUs, MemoryBytes: most.MemoryBytes, GPUs: most.GPUs}
	class := d.Class
	class.Nodes, class.RuntimeSeconds, class.SchedulerID = 1, 0, nil
	fits, why := placement.NewPacker(placement.Offer{Nodes: []placement.FreeNode{node}, Slots: 1, Labels: p.Labels}).Fits(class)
	switch {
	case !fits:
		return why.String()
	case p.MaxNodes > 0 && d.nodes() > p.MaxNodes:
		return fmt.Sprintf("nodes: needs %d, an allocation has at most %d", d.nodes(), p.MaxNodes)
	case p.MaxWalltime > 0 && !set.Margins.Fits(d.runtime(), p.MaxWalltime):
		return fmt.Sprintf("runtime: needs %s, an allocation has at most %s", inWords(d.runtime()), inWords(p.MaxWalltime))
	case !p.leaves(p.nodes(d), nil):
		return fmt.Sprintf("nodes: needs %d, its options leave %d", p.nodes(d), len(p.Hosts))
	}
	return ""
}

// nodes returns how many nodes an allocation for such jobs has.
func (p *Pool) nodes(d *Demand) int64 { return max(d.nodes(), p.Nodes, int64(len(p.Required))) }

// exclude returns which nodes an allocation for such jobs must not get: those that
// they avoid, and those on which allocations have failed. This is a preference: if it
// would leave too few nodes, or Slurm has refused the last request, nothing is excluded,
// and the jobs may run on these nodes. Instead says why some are not excluded.
func (p *Pool) exclude(d *Demand) (nodes []string, instead string) {
	nodes = slices.DeleteFunc(union(d.Avoid, p.Failures.Nodes), func(host string) bool { return p.Hosts != nil && !slices.Contains(p.Hosts, host) })
	avoided := strings.Join(nodes, ",")
	switch required := func(host string) bool { return slices.Contains(p.Required, host) }; {
	case len(nodes) == 0:
	case p.Failures.Refused:
		return nil, avoided + " not excluded, as Slurm has refused the last request"
	case slices.ContainsFunc(nodes, required):
		nodes = slices.DeleteFunc(nodes, required)
		instead = strings.Join(p.Required, ",") + " requested by name, although avoided"
	}
	if !p.leaves(p.nodes(d), nodes) {
		return nil, avoided + " not excluded, as too few others are left"
	}
	return nodes, instead
}

// noLimit is longer than any allocation.
const noLimit = 100 * 365 * 24 * time.Hour

// leaves reports whether enough nodes are left without the excluded ones.
func (p *Pool) leaves(nodes int64, excluded []string) bool {
	if p.Hosts == nil {
		return true
	}
	left := int64(0)
	for _, h := range p.Hosts {
		if !slices.Contains(excluded, h) {
			left++
		}
	}
	return left >= nodes
}

// walltime returns what to request so that jobs can run one after the other for about as
// long as work, the last of them for as long as it may, and at least one of them can run.
func (p *Pool) walltime(l load, work time.Duration, set *Settings) time.Duration {
	longest, each := time.Duration(l.longest())*time.Second, time.Duration(l.seconds)*time.Second
	w := set.Margins.WalltimeWithin(longest, p.MaxWalltime)
	if p.Walltime > 0 {
		w = max(w, p.Walltime)
	} else {
		w = max(w, set.Margins.Walltime(work.Truncate(each)+longest-each), set.MinWalltime)
	}
	return p.within(w)
}

func (p *Pool) within(walltime time.Duration) time.Duration {
	if p.MaxWalltime > 0 {
		return min(walltime, p.MaxWalltime)
	}
	return walltime
}

// asks returns what an allocation for such jobs has at most on each node.
func (p *Pool) asks(d *Demand) Resources {
	each, need := p.Node, d.each()
	if p.Asks.CPUs > 0 {
		each.CPUs = max(p.Asks.CPUs, need.CPUs)
	}
	if p.Asks.MemoryBytes > 0 {
		each.MemoryBytes = max(p.Asks.MemoryBytes, need.MemoryBytes)
	}
	if p.Asks.GPUs > 0 {
		each.GPUs = max(p.Asks.GPUs, need.GPUs)
	}
	return p.share(each, p.nodes(d))
}

// share returns what an allocation may have on each of some nodes so that it stays
// within the limits of its total. It has all of nodes that are not shared.
func (p *Pool) share(each Resources, nodes int64) Resources {
	if !p.Shared {
		return each
	}
	if p.Most.CPUs > 0 {
		each.CPUs = min(each.CPUs, p.Most.CPUs/nodes)
	}
	if p.Most.MemoryBytes > 0 {
		each.MemoryBytes = min(each.MemoryBytes, max(p.Most.MemoryBytes/nodes-runnerMemory, 0))
	}
	if p.Most.GPUs > 0 {
		each.GPUs = min(each.GPUs, p.Most.GPUs/nodes)
	}
	return each
}
