package scheduler

import (
	"cmp"
	"slices"
	"time"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// Demand is jobs of one workflow that are equal to whoever looks for a place for
// them. A job is in one Demand, and once.
type Demand struct {
	workflow.Class
	Avoid []string // nodes on which they shall not run, sorted
	// Pools that they may go to, all of one action, best first. Another than the
	// first is asked only if those before it are at a limit of the site.
	Pools []string
	// Ready jobs may be claimed now or so soon that an allocation is worth
	// asking for: retries at the end of a delay among them.
	Ready int64
	// Later jobs will come: delayed for longer, or blocked behind jobs that run.
	// Nothing is asked for them, but what is pending for them stays.
	Later int64
	// Awaited are the ready ones for which a schedule_nodes action asks as soon as
	// its other jobs are ready too.
	Awaited int64
	Since   time.Time // since when the oldest of Ready waits
	Next    time.Time // when the first delayed one becomes ready; zero if none is
}

// seconds is how long a job is planned to run. A job of no declared time is
// counted with one second, as nothing takes none.
func (d *Demand) seconds() int64 { return max(d.RuntimeSeconds, 1) }

func (d *Demand) runtime() time.Duration { return time.Duration(d.seconds()) * time.Second }

func (d *Demand) each() Resources {
	return Resources{CPUs: d.CPUs, MemoryBytes: d.MemoryBytes, GPUs: d.GPUs}
}

func (d *Demand) load() load { return load{each: d.each(), nodes: d.nodes(), seconds: d.seconds()} }

func (d *Demand) nodes() int64 { return max(d.Nodes, 1) }

// compareDemand orders demand as it is given places: what is claimed first, and
// of that the largest, as small jobs find a place beside and after large ones.
func compareDemand(a, b *Demand) int {
	return cmp.Or(
		cmp.Compare(b.Priority, a.Priority),
		cmp.Compare(b.Nodes, a.Nodes),
		workflow.CompareClasses(a.Class, b.Class),
		cmp.Compare(a.ID, b.ID),
		slices.Compare(a.Avoid, b.Avoid),
	)
}

// Coverage is what becomes of the ready jobs of a Demand; each is counted once.
type Coverage struct {
	ClassID   int64
	Avoid     []string
	Ready     int64
	Live      int64 // live allocations can take them
	Pending   int64 // pending ones can
	Asked     int64 // allocations that this plan asks for can
	Uncovered int64
	Reason    string // why the uncovered ones are that
}
