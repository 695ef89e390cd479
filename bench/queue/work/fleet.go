package work

import (
	"github.com/torc-slurm/torc-slurm/bench/queue/cluster"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// Defaults of the product, in seconds.
const (
	// IdleTimeout is how long a runner without work waits (compute_node_wait_for_new_jobs_seconds).
	IdleTimeout = 90
	startup     = 5 // from the start of an allocation to the first claim, as measured
	exit        = 1 // from the decision to leave to the end of the allocation
)

// Margins are those of a workflow that says nothing about them.
var Margins = placement.MarginsOf(nil)

// Shape is an allocation to request.
type Shape struct {
	Partition int
	Nodes     int64
	Node      placement.FreeNode // what its runners offer on each node
	Walltime  int64
	Together  bool // one runner leads all nodes
}

// Fleet is the allocations of a workflow.
type Fleet struct {
	Cluster  *cluster.Cluster
	Progress *Progress
	// Changed, if not nil, is called after allocations have started or ended, and after jobs
	// became ready.
	Changed     func()
	Allocations []*Allocation // pending and running ones, the oldest first
	Allocated   int64         // CPU seconds of those that have ended
	Requested   int64         // allocations
	Ended       []*Allocation

	claiming bool  // claims are going to be made
	notable  bool  // an allocation has started or ended since Changed was called
	became   int64 // of Progress when Changed was called
	lastID   int64
}

// NewFleet returns a fleet without allocations.
func NewFleet(c *cluster.Cluster, p *Progress) *Fleet { return &Fleet{Cluster: c, Progress: p} }

// Request submits an allocation.
func (f *Fleet) Request(s Shape) (*Allocation, error) {
	f.lastID++
	a := &Allocation{ID: f.lastID, Shape: s, fleet: f, Asked: f.Cluster.Now()}
	r := cluster.Request{
		Partitions: []int{s.Partition}, Nodes: s.Nodes, Limit: s.Walltime,
		Each: cluster.Resources{CPUs: s.Node.CPUs, MemoryMB: s.Node.MemoryBytes >> 20, GPUs: s.Node.GPUs},
	}
	j, err := f.Cluster.Submit(r, a.started, a.over)
	if err != nil {
		return nil, err
	}
	f.Requested++
	a.Slurm = j
	f.Allocations = append(f.Allocations, a)
	return a, nil
}

// Done reports whether all jobs are done and all allocations have ended.
func (f *Fleet) Done() bool { return f.Progress.Done() && len(f.Allocations) == 0 }

// CancelPending cancels all allocations that are still pending, and returns how many there were.
func (f *Fleet) CancelPending() (n int64) {
	for _, a := range append([]*Allocation(nil), f.Allocations...) {
		if a.Slurm.State == cluster.Pending {
			f.Cluster.Cancel(a.Slurm)
			n++
		}
	}
	return n
}

// changed has runners claim jobs as soon as all that happens now has happened.
func (f *Fleet) changed() {
	if f.claiming {
		return
	}
	f.claiming = true
	f.Cluster.At(f.Cluster.Now(), f.claim)
}

// claim lets all runners claim jobs, and leave if there is nothing for them.
func (f *Fleet) claim() {
	f.claiming = false
	now := f.Cluster.Now()
	if next := f.Progress.Wake(now); next > 0 {
		f.Cluster.At(next, f.changed)
	}
	for _, a := range append([]*Allocation(nil), f.Allocations...) {
		if a.begun {
			a.claim(now)
			a.leave(now)
		}
	}
	if f.Changed != nil && (f.notable || f.became != f.Progress.became) {
		f.notable, f.became = false, f.Progress.became
		f.Changed()
	}
}

func (f *Fleet) remove(a *Allocation) {
	for i := range f.Allocations {
		if f.Allocations[i] == a {
			f.Allocations = append(f.Allocations[:i:i], f.Allocations[i+1:]...)
			return
		}
	}
}
