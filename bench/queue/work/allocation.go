package work

import (
	"math"
	"time"

	"github.com/torc-slurm/torc-slurm/bench/queue/cluster"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// Allocation is an allocation with its runners.
type Allocation struct {
	Shape
	ID    int64
	Slurm *cluster.Job
	Asked int64

	fleet *Fleet
	begun bool // its runners claim jobs
	nodes []placement.FreeNode
	units []unit
	runs  []*run
}

// unit is a runner: that of a node, or the one that leads all nodes.
type unit struct {
	first, nodes int
	jobs         int
	idle         int64 // since when it has had no jobs
	due          int64 // when it is looked at again
	left         bool
}

// run is an attempt that runs.
type run struct {
	job, class int
	nodes      []int
	started    int64
	index      int // in the list
}

// Run says that jobs of a class run in an allocation, and until when, as they declare.
type Run struct {
	Class int
	Until int64
}

// Begun reports whether its runners claim jobs.
func (a *Allocation) Begun() bool { return a.begun }

// Leaving reports whether its runners have left, and it is about to end.
func (a *Allocation) Leaving() bool { return !a.begun && a.units != nil }

// Runs returns the jobs that run in it.
func (a *Allocation) Runs() []Run {
	out := make([]Run, len(a.runs))
	for i, r := range a.runs {
		out[i] = Run{r.class, r.started + a.fleet.Progress.Classes[r.class].RuntimeSeconds}
	}
	return out
}

// NodesLeft returns how many nodes have runners.
func (a *Allocation) NodesLeft() (n int64) {
	for _, u := range a.units {
		if !u.left {
			n += int64(u.nodes)
		}
	}
	return n
}

// Shorten lowers the time limit of a pending allocation.
func (a *Allocation) Shorten(seconds int64) {
	if a.fleet.Cluster.Shorten(a.Slurm, seconds) {
		a.Walltime = seconds
	}
}

// End returns when the time limit of a running allocation is reached.
func (a *Allocation) End() int64 { return a.Slurm.Start + a.Walltime }

// started is called when Slurm starts it.
func (a *Allocation) started(j *cluster.Job) {
	a.fleet.Cluster.At(j.Start+startup, func() {
		if j.State == cluster.Running {
			a.begin(j.Start + startup)
		}
	})
	a.fleet.notable = true
	a.fleet.changed()
}

// begin registers its runners.
func (a *Allocation) begin(now int64) {
	a.begun = true
	for i := range int(a.Nodes) {
		a.nodes = append(a.nodes, a.Node)
		if !a.Together {
			a.units = append(a.units, unit{first: i, nodes: 1, idle: now})
		}
	}
	if a.Together {
		a.units = []unit{{nodes: int(a.Nodes), idle: now}}
	}
	a.fleet.changed()
}

// offer returns what it has to give now.
func (a *Allocation) offer(now int64) placement.Offer {
	seconds := func(d time.Duration) int64 { return int64(d / time.Second) }
	walltime, left := time.Duration(a.Walltime)*time.Second, time.Duration(a.End()-now)*time.Second
	usable := seconds(left - Margins.Within(walltime).Grace)
	return placement.Offer{
		Nodes: a.nodes, Slots: math.MaxInt32, TimeLeftSeconds: &usable,
		WholeSeconds: seconds(placement.WholeRuntime(walltime, left)),
	}
}

// claim starts the ready jobs that fit.
func (a *Allocation) claim(now int64) {
	p := a.fleet.Progress
	var classes []placement.Class
	for i := range p.Classes {
		if p.Ready(i) > 0 && (p.Classes[i].Nodes <= 1 || a.Together) {
			classes = append(classes, p.Classes[i])
		}
	}
	if len(classes) == 0 {
		return
	}
	packer := placement.NewPacker(a.offer(now))
	for _, c := range packer.Candidates(classes) {
		class := int(c.ID) - 1
		for p.Ready(class) > 0 {
			node, ok := packer.Take(c)
			if !ok {
				break
			}
			a.run(class, node, now)
		}
	}
}

// run starts the next job of a class on a node, or on the first idle ones.
func (a *Allocation) run(class, node int, now int64) {
	c := &a.fleet.Progress.Classes[class]
	job, runtime := a.fleet.Progress.Take(class, now)
	r := &run{job: job, class: class, started: now, nodes: []int{node}, index: len(a.runs)}
	if c.Nodes > 1 {
		r.nodes = nil
		for i := range a.nodes {
			if int64(len(r.nodes)) < c.Nodes && !a.nodes[i].Busy {
				r.nodes = append(r.nodes, i)
				a.nodes[i] = placement.FreeNode{Busy: true}
			}
		}
	} else {
		n := &a.nodes[node]
		n.CPUs, n.MemoryBytes, n.GPUs, n.Busy = n.CPUs-c.CPUs, n.MemoryBytes-c.MemoryBytes, n.GPUs-c.GPUs, true
	}
	a.unitOf(r.nodes[0]).jobs++
	a.runs = append(a.runs, r)
	a.fleet.Cluster.At(now+runtime, func() { a.finish(r) })
}

func (a *Allocation) unitOf(node int) *unit {
	if a.Together {
		return &a.units[0]
	}
	return &a.units[node]
}

// finish ends an attempt, unless the allocation ended before.
func (a *Allocation) finish(r *run) {
	if r.index >= len(a.runs) || a.runs[r.index] != r {
		return
	}
	now := a.fleet.Cluster.Now()
	c := &a.fleet.Progress.Classes[r.class]
	if c.Nodes > 1 {
		for _, n := range r.nodes {
			a.nodes[n] = a.Node
		}
	} else {
		n := &a.nodes[r.nodes[0]]
		n.CPUs, n.MemoryBytes, n.GPUs = n.CPUs+c.CPUs, n.MemoryBytes+c.MemoryBytes, n.GPUs+c.GPUs
		n.Busy = n.CPUs != a.Node.CPUs
	}
	u := a.unitOf(r.nodes[0])
	u.jobs--
	u.idle = now
	last := a.runs[len(a.runs)-1]
	a.runs[r.index], last.index = last, r.index
	a.runs = a.runs[:len(a.runs)-1]
	a.fleet.Progress.Finish(r.job, now)
	a.fleet.changed()
}

// leave lets runners leave that have nothing to wait for, and ends the allocation after the
// last of them.
func (a *Allocation) leave(now int64) {
	stays := false
	for i := range a.units {
		u := &a.units[i]
		if u.left {
			continue
		}
		switch due := u.idle + IdleTimeout; {
		case u.jobs > 0:
			stays = true
		case a.fleet.Progress.Done() || now >= due || !a.mayTakeMore(now):
			u.left = true
			for n := u.first; n < u.first+u.nodes; n++ {
				a.nodes[n] = placement.FreeNode{Busy: true}
			}
		default:
			stays = true
			if u.due != due {
				u.due = due
				a.fleet.Cluster.At(due, a.fleet.changed)
			}
		}
	}
	if !stays {
		a.begun = false
		a.fleet.Cluster.At(now+exit, func() { a.fleet.Cluster.Finish(a.Slurm) })
	}
}

// mayTakeMore reports whether a job of the workflow could still run in the time that is left.
func (a *Allocation) mayTakeMore(now int64) bool {
	o := a.offer(now)
	for i := range a.fleet.Progress.Classes {
		if a.fleet.Progress.Classes[i].RuntimeSeconds <= max(*o.TimeLeftSeconds, o.WholeSeconds) {
			return true
		}
	}
	return false
}

// over is called when Slurm has ended it.
func (a *Allocation) over(j *cluster.Job) {
	f := a.fleet
	f.notable = true
	f.remove(a)
	f.Ended = append(f.Ended, a)
	if j.State == cluster.Ended && len(j.Placed) > 0 {
		p := f.Cluster.Partition(j.Partition)
		f.Allocated += j.CPUs(&p) * (j.Ended - j.Start)
	}
	a.begun = false
	for _, r := range a.runs {
		f.Progress.Return(r.job, j.Ended)
	}
	a.runs = nil
	f.changed()
}
