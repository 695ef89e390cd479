package scheduler

import (
	"cmp"
	"slices"
	"time"

	"github.com/torc-slurm/torc-slurm/scheduler/forecast"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// Shape describes a requested allocation.
type Shape struct {
	Pool        string
	SchedulerID *int64
	Nodes       int64
	Node        Resources     // on each node
	WholeNodes  bool          // the nodes are not shared with other jobs
	Walltime    time.Duration // whole minutes
	Labels      []string      // of its runners
	Exclude     []string      // nodes that it must not get, sorted
	// Together: one runner leads all nodes, for jobs that need several. Otherwise
	// there is a runner on each node.
	Together  bool
	Serialize bool // start after the previous allocation of the pool has ended
}

// State says whether an allocation can take jobs.
type State int

// The states.
const (
	Pending   State = iota // requested, even if Slurm has not answered yet
	Returning              // its runners are gone, and Slurm may be about to restart it
	Active                 // its runners take jobs, or soon will
	Closed                 // takes no jobs: it is ending or suspended, or its runners are silent
)

// Allocation is an allocation that has not ended.
type Allocation struct {
	ID       int64
	ActionID int64 // the AutoSchedule that requested it; 0: a person, or another action
	State    State
	Shape    Shape     // of an active one, with the actual resources of its nodes
	Asked    time.Time // when it was requested
	// Requeued says that Slurm has requeued a pending one, which then waits longer than
	// the others.
	Requeued  bool
	Widened   bool      // it may also start in another partition
	Fixed     bool      // Slurm does not shorten it
	Shortened time.Time // when its time limit was lowered last
	Reason    string    // why Slurm does not start it yet, as Slurm names it
	Place     forecast.Place
	Eligible  time.Time // of a pending one: the earliest start; zero: now
	Expected  time.Time // of a pending one: when Slurm expects to start it; zero if it does not say
	Started   time.Time // of an active one
	End       time.Time // of an active one: when its time limit is reached; zero: never
	Hosts     []string  // of an active one
	Running   []Running // of an active one
}

// Running are jobs that run in an allocation.
type Running struct {
	Each  Resources
	Nodes int64
	Count int64
	Until time.Time // when they should end according to their declared runtime
	// ClassID is their claim class, and Declared their declared runtime.
	ClassID  int64
	Declared time.Duration
}

// admits reports whether the allocation counts for a job of the demand, if
// it has room. A pending one counts for the jobs that may request the same. A requeued
// one must be able to start before within: otherwise requesting another one is faster.
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

// late reports whether Slurm has requeued the allocation and does not start it before
// within.
func (a *Allocation) late(within time.Time) bool {
	return a.State == Pending && a.Requeued && a.Eligible.After(within)
}

// room returns what is free in the allocation from now, or from its start, to its end.
func (a *Allocation) room(now time.Time, m placement.Margins) room {
	usable, whole := m.Usable(a.Shape.Walltime), placement.WholeRuntime(a.Shape.Walltime, a.Shape.Walltime)
	switch {
	case a.State == Closed:
		return room{}
	case a.State == Active && a.End.IsZero():
		usable = noLimit
	case a.State == Active:
		usable = a.End.Sub(now) - m.Within(a.Shape.Walltime).Grace
		whole = placement.WholeRuntime(a.Shape.Walltime, a.End.Sub(now))
	}
	r := newRoom(a.Shape.Nodes, a.Shape.Node, usable, whole)
	for _, j := range slices.SortedStableFunc(slices.Values(a.Running), compareRunning) {
		left := max(min(int64(remaining(j.Until.Sub(now))/time.Second), r.seconds), 1)
		r.take(load{each: j.Each, nodes: max(j.Nodes, 1), seconds: left}, j.Count)
	}
	return r
}

// compareRunning puts jobs of several nodes first, as they need whole nodes, and
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

// remaining returns how long a job is expected to continue. A job that has exceeded its
// declared runtime is expected to need the excess once more.
func remaining(declared time.Duration) time.Duration { return max(declared, -declared) }

// compareAllocation orders allocations as they are filled: live ones, then those
// that stay in any case because a person requested them, then the oldest requests, so
// that the newest pending ones become surplus; requeued ones become surplus before
// these.
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
