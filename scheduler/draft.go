package scheduler

import (
	"cmp"
	"slices"
	"time"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// runnerMemory is what our own processes need besides the jobs, where only part of a
// node is requested.
const runnerMemory = 128 << 20

// draft is an allocation that is being planned.
type draft struct {
	pool  *Pool
	shape Shape // as large as it may become
	room  room
	need  Resources // the largest of any of its jobs
	parts []part
	probe string // not empty: why it is a probe
	// instead says why a node that jobs avoid is not excluded.
	instead string
}

// part are the jobs of one want in a draft.
type part struct {
	want int
	jobs int64
}

func (f *draft) jobs() (n int64) {
	for _, c := range f.parts {
		n += c.jobs
	}
	return n
}

// newDraft opens an allocation for jobs of the demand, which must fit the pool.
func newDraft(p *Pool, d *Demand, work time.Duration, set *Settings) *draft {
	s := Shape{
		Pool: p.Name, SchedulerID: p.SchedulerID, Nodes: p.nodes(d), Node: p.asks(d), WholeNodes: !p.Shared,
		Walltime: p.walltime(d.seconds(), work, set), Labels: p.Labels, Together: d.nodes() > 1, Serialize: p.Serialize,
	}
	return &draft{pool: p, shape: s, room: newRoom(s.Nodes, s.Node, set.Margins.Usable(s.Walltime), placement.WholeRuntime(s.Walltime, s.Walltime))}
}

// take puts at most n jobs of the demand into the draft.
func (f *draft) take(d *Demand, n int64) int64 {
	if !slices.Contains(d.Pools, f.pool.Name) || (d.nodes() > 1) != f.shape.Together || !workflow.LabelsMatch(d.Labels, f.shape.Labels) {
		return 0
	}
	avoided, instead := f.pool.exclude(d)
	exclude := union(f.shape.Exclude, avoided)
	if !f.pool.leaves(f.shape.Nodes, exclude) {
		return 0
	}
	taken := f.room.take(d.load(), n)
	if taken > 0 {
		f.shape.Exclude = exclude
		f.instead = cmp.Or(f.instead, instead)
		f.need = f.need.most(d.each())
	}
	return taken
}

// final returns the shape, reduced to what its jobs need.
func (f *draft) final(set *Settings) Shape {
	s := f.shape
	if f.pool.Walltime == 0 {
		need := set.Margins.Walltime(time.Duration(f.room.busy) * time.Second)
		s.Walltime = min(s.Walltime, f.pool.within(max(need, set.MinWalltime)))
	}
	if f.pool.Shared {
		used := f.need
		if s.Nodes == 1 {
			used = s.Node.minus(f.room.untouched())
		} else if !s.Together {
			used = s.Node
		}
		used.MemoryBytes += runnerMemory
		used.Slots = s.Node.Slots
		s.Node = used.least(s.Node).most(f.pool.Asks)
	}
	return s
}
