package scheduler

import (
	"cmp"
	"slices"
	"time"

	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// Demand is a set of jobs of one workflow that are interchangeable for the plan. Each job
// is counted once, in one Demand.
type Demand struct {
	placement.Class
	Avoid []string // nodes that they avoid, sorted
	// Pools that they may use, all of one action, best first. A pool after the
	// first is used only if those before it have reached a limit of the site.
	Pools []string
	// Ready jobs may be claimed now, or so soon that an allocation is worth
	// requesting, such as retries whose delay is about to end.
	Ready int64
	// Later jobs will be ready: they are delayed for longer, or blocked behind running jobs.
	// Nothing is requested for them, but allocations that are pending for them stay.
	Later int64
	// Awaited are the ready ones for which a schedule_nodes action requests allocations as
	// soon as its other jobs are ready too.
	Awaited int64
	// LikelySeconds is how long a job is expected to run, by those that have finished; 0: as long
	// as its runtime says. It may run until then.
	LikelySeconds int64
	Since         time.Time // since when the oldest of Ready has waited
	Next          time.Time // when the first delayed one becomes ready; zero if none is
}

// seconds returns how long a job is planned to run: at least one second, also without a
// declared runtime.
func (d *Demand) seconds() int64 { return max(d.RuntimeSeconds, 1) }

func (d *Demand) runtime() time.Duration { return time.Duration(d.seconds()) * time.Second }

func (d *Demand) each() Resources {
	return Resources{CPUs: d.CPUs, MemoryBytes: d.MemoryBytes, GPUs: d.GPUs}
}

func (d *Demand) load() load {
	limit := d.seconds()
	return load{each: d.each(), nodes: d.nodes(), seconds: min(cmp.Or(d.LikelySeconds, limit), limit), limit: limit}
}

func (d *Demand) nodes() int64 { return max(d.Nodes, 1) }

// compareDemand orders demand as it is packed: jobs that are claimed first, and
// of these the largest, as small jobs fit beside and after large ones.
func compareDemand(a, b *Demand) int {
	return cmp.Or(
		cmp.Compare(b.Priority, a.Priority),
		cmp.Compare(b.Nodes, a.Nodes),
		placement.CompareClasses(a.Class, b.Class),
		cmp.Compare(a.ID, b.ID),
		slices.Compare(a.Avoid, b.Avoid),
	)
}

// Coverage says where the ready jobs of a Demand can run; each is counted once.
type Coverage struct {
	ClassID   int64
	Avoid     []string
	Ready     int64
	Live      int64 // live allocations can take them
	Pending   int64 // pending ones can
	Asked     int64 // allocations that this plan requests can
	Uncovered int64
	Reason    string // why the others are uncovered
}
