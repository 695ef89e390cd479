package scheduler

import (
	"cmp"
	"slices"
	"time"

	"github.com/torc-slurm/torc-slurm/scheduler/forecast"
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
	wait    forecast.Wait // that is expected; of no meaning without a forecast
	free    bool          // its resources are free now
}

// part are the jobs of one want in a draft.
type part struct {
	want  int
	jobs  int64
	ready int64 // of these; the others follow them
}

// jobs returns how many ready jobs have a place in the draft.
func (f *draft) jobs() (n int64) {
	for _, c := range f.parts {
		n += c.ready
	}
	return n
}

// draft opens an allocation of a variant for jobs of the demand, which must fit the pool. It
// returns nil if it would have to queue and the variant has only those that start.
func (p *planner) draft(pool *Pool, d *Demand, v *variant) *draft {
	s := Shape{
		Pool: pool.Name, SchedulerID: pool.SchedulerID, Nodes: max(pool.nodes(d), v.nodes), Node: pool.asks(d), WholeNodes: !pool.Shared,
		Labels: pool.Labels, Together: d.nodes() > 1, Serialize: pool.Serialize,
	}
	f := &draft{pool: pool}
	work := v.by
	if v.vacancies != nil {
		if f.free = p.vacancyFor(&s, pool, d, v); !f.free {
			work = v.work
		}
		if v.starts && !f.free {
			return nil
		}
	}
	s.Walltime = pool.walltime(d.load(), work, &p.set)
	f.shape, f.room = s, roomOf(&s, &p.set)
	if v.vacancies != nil {
		f.room.until = int64(max(work/time.Second, time.Duration(d.load().seconds)))
	}
	if v.spare {
		f.instead = "its jobs are expected to end sooner there"
	}
	return f
}

// vacancyFor gives an allocation the size that the variant says, takes its resources if they are
// free, and reports whether it starts at once. One that is to fit a vacancy gets its size, and
// one that would have to queue for more nodes than its jobs need gets no more.
func (p *planner) vacancyFor(s *Shape, pool *Pool, d *Demand, v *variant) bool {
	s.Walltime = pool.walltime(d.load(), v.by, &p.set)
	if v.jobs > 0 && pool.Shared && s.Nodes == 1 {
		need := d.each().times(v.jobs)
		need.MemoryBytes += runnerMemory
		s.Node = s.Node.least(need.most(pool.Asks).withSlots(s.Node.Slots))
	}
	if v.fits && pool.Shared && s.Nodes == 1 {
		least := *s
		least.Node = d.each().most(pool.Asks)
		r := p.request(&least, pool.Place)
		if free := v.vacancies.Largest(&r); free.CPUs > 0 {
			room := Resources{CPUs: free.CPUs, MemoryBytes: max(free.MemoryBytes-runnerMemory, least.Node.MemoryBytes), GPUs: free.GPUs, Slots: s.Node.Slots}
			s.Node = s.Node.least(room)
		}
	}
	r := p.request(s, pool.Place)
	free := p.take(v.vacancies, &r)
	if one := pool.nodes(d); !free && s.Nodes > one { // several nodes at once are seldom free by themselves
		s.Nodes, r.Nodes = one, one
		free = p.take(v.vacancies, &r)
	}
	return free && p.freeWait(&r).Soon()
}

// roomOf returns the room in a fresh allocation.
func roomOf(s *Shape, set *Settings) room {
	return newRoom(s.Nodes, s.Node, set.Margins.Usable(s.Walltime), placement.WholeRuntime(s.Walltime, s.Walltime))
}

// admits reports whether jobs of the demand may run in the draft, if it has room.
func (f *draft) admits(d *Demand) bool {
	if !slices.Contains(d.Pools, f.pool.Name) || (d.nodes() > 1) != f.shape.Together || !workflow.LabelsMatch(d.Labels, f.shape.Labels) {
		return false
	}
	avoided, _ := f.pool.exclude(d)
	return f.pool.leaves(f.shape.Nodes, union(f.shape.Exclude, avoided))
}

// take puts at most n jobs of the demand into the draft, no more than a number side by side, and
// returns how many, and how many of these run side by side.
func (f *draft) take(d *Demand, n, most int64) (taken, used int64) {
	if !f.admits(d) {
		return 0, 0
	}
	avoided, instead := f.pool.exclude(d)
	exclude := union(f.shape.Exclude, avoided)
	if taken, used = f.room.takeSide(d.load(), n, most); taken > 0 {
		f.shape.Exclude = exclude
		f.instead = cmp.Or(f.instead, instead)
		f.need = f.need.most(d.each())
	}
	return taken, used
}

// final returns the shape, reduced to what its jobs need.
func (f *draft) final(set *Settings) Shape {
	s := f.shape
	if f.pool.Walltime == 0 {
		need := min(set.Margins.Walltime(time.Duration(f.room.bound)*time.Second), s.Walltime)
		s.Walltime = f.pool.within(max(need, min(s.Walltime, set.MinWalltime)))
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
