package scheduler

import (
	"cmp"
	"slices"
	"time"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// Shape is an allocation as it is asked for.
type Shape struct {
	Pool        string
	SchedulerID *int64
	Nodes       int64
	Node        Resources     // on each node
	WholeNodes  bool          // they are ours alone
	Walltime    time.Duration // whole minutes
	Labels      []string      // of its runners
	Exclude     []string      // nodes that it must not get, sorted
	// Together: one runner leads all nodes, for jobs that need several. Else
	// there is a runner on each node.
	Together  bool
	Serialize bool // start after the allocation before it in the pool has ended
}

// State is what an allocation is good for.
type State int

// The states.
const (
	Pending   State = iota // asked for, be it that Slurm has not answered yet
	Returning              // its runners are gone, and Slurm may be about to start it again
	Active                 // its runners take jobs, or soon will
	Closed                 // takes no jobs: it ends, is suspended, or its runners are silent
)

// Allocation is one that has not ended.
type Allocation struct {
	ID       int64
	ActionID int64 // the AutoSchedule that asked for it; 0: a person, or another action
	State    State
	Shape    Shape     // of an active one, with what its nodes have in fact
	Asked    time.Time // when it was asked for
	// Requeued says that Slurm has put a pending one back into its queue, where
	// it waits longer than the others.
	Requeued bool
	Widened  bool      // it may start in another partition too
	Reason   string    // why Slurm does not start it yet, in its word
	Eligible time.Time // of a pending one: not before this does Slurm start it; zero if it may now
	End      time.Time // of an active one: when its time is over; zero if never
	Hosts    []string  // of an active one
	Running  []Running // of an active one
}

// Running is jobs that run in an allocation.
type Running struct {
	Each  Resources
	Nodes int64
	Count int64
	Until time.Time // when they should end by their declared time
}

// admits reports whether to count on the allocation for a job of the demand, if
// it has room. A pending one is kept for the jobs that may ask for its like. One
// that Slurm has put back into its queue must be let start within some time: to
// ask for another one is faster then.
func (a *Allocation) admits(d *Demand, pool *Pool, within time.Time) bool {
	avoid := d.Avoid
	if pool != nil {
		avoid, _ = pool.exclude(d)
	}
	switch {
	case a.State == Closed, !workflow.LabelsMatch(d.Labels, a.Shape.Labels):
		return false
	case d.SchedulerID != nil && (a.Shape.SchedulerID == nil || *a.Shape.SchedulerID != *d.SchedulerID):
		return false
	case d.nodes() > 1 && !a.Shape.Together, d.nodes() == 1 && a.Shape.Together && a.Shape.Nodes > 1 && a.ActionID != 0:
		return false
	case a.late(within):
		return false
	case a.State == Active:
		return !slices.ContainsFunc(a.Hosts, func(host string) bool { return slices.Contains(avoid, host) })
	case a.ActionID != 0 && !slices.Contains(d.Pools, a.Shape.Pool):
		return false
	}
	return pool == nil || pool.leaves(a.Shape.Nodes, union(avoid, a.Shape.Exclude))
}

// late reports whether Slurm, which has put the allocation back into its queue,
// does not start it within some time.
func (a *Allocation) late(within time.Time) bool {
	return a.State == Pending && a.Requeued && a.Eligible.After(within)
}

// room is what the allocation has free from now, or from its start, to its end.
func (a *Allocation) room(now time.Time, m workflow.Margins) room {
	usable, whole := m.Usable(a.Shape.Walltime), workflow.WholeRuntime(a.Shape.Walltime, a.Shape.Walltime)
	switch {
	case a.State == Closed:
		return room{}
	case a.State == Active && a.End.IsZero():
		usable = noLimit
	case a.State == Active:
		usable = a.End.Sub(now) - m.Within(a.Shape.Walltime).Grace
		whole = workflow.WholeRuntime(a.Shape.Walltime, a.End.Sub(now))
	}
	r := newRoom(a.Shape.Nodes, a.Shape.Node, usable, whole)
	for _, j := range slices.SortedStableFunc(slices.Values(a.Running), compareRunning) {
		left := int64(remaining(j.Until.Sub(now)) / time.Second)
		r.take(load{each: j.Each, nodes: max(j.Nodes, 1), seconds: max(min(left, r.seconds), 1)}, j.Count)
	}
	return r
}

// compareRunning puts jobs of several nodes first, as they need whole ones, and
// then those that run longest.
func compareRunning(a, b Running) int {
	return cmp.Or(
		cmp.Compare(b.Nodes, a.Nodes),
		b.Until.Compare(a.Until),
		cmp.Compare(b.Each.GPUs, a.Each.GPUs),
		cmp.Compare(b.Each.CPUs, a.Each.CPUs),
		cmp.Compare(b.Each.MemoryBytes, a.Each.MemoryBytes),
	)
}

// remaining is how long a job is expected to run on. One that is over its
// declared time is taken to need as long again as it is over.
func remaining(declared time.Duration) time.Duration { return max(declared, -declared) }

// compareAllocation orders allocations as they are filled: live ones, then those
// that stay in any case as a person asked for them, then the first asked for, so
// that the youngest pending ones are those that are too many, and before them the
// requeued ones.
func compareAllocation(a, b *Allocation) int {
	ours := func(a *Allocation) int {
		if a.ActionID != 0 {
			return 1
		}
		return 0
	}
	last := func(a *Allocation) int {
		if a.Requeued && a.State == Pending {
			return 1
		}
		return 0
	}
	return cmp.Or(
		cmp.Compare(b.State, a.State),
		cmp.Compare(ours(a), ours(b)),
		cmp.Compare(last(a), last(b)),
		a.Asked.Compare(b.Asked),
		cmp.Compare(a.ID, b.ID),
	)
}

// union merges two sorted lists.
func union(a, b []string) []string {
	both := slices.Concat(a, b)
	slices.Sort(both)
	return slices.Compact(both)
}
