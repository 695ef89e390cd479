package main

import (
	"time"

	"github.com/torc-slurm/torc-slurm/bench/queue/work"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// fixed requests a number of allocations, and the same again for what is left when all of
// them have ended.
type fixed struct {
	count int64 // allocations; fewer if the jobs cannot use as many
	nodes int64 // of each; 0: so many that all jobs that are ready at a time run at once
	// stretch multiplies the walltime that the work needs.
	stretch float64
}

// shortest is the shortest walltime that is requested.
const shortest = 5 * time.Minute

func (f fixed) begin(t *trial) {
	t.poll()
	request := func() {
		shape, count := f.shape(t)
		for range count {
			if _, err := t.fleet.Request(shape); err != nil {
				panic(err) // shape keeps to the limits of the partition
			}
			t.calls.Sbatch++
		}
	}
	t.fleet.Changed = func() {
		if len(t.fleet.Allocations) == 0 && !t.progress.Done() {
			request()
		}
	}
	request()
}

// shape returns what to request for the jobs that are not done.
func (f fixed) shape(t *trial) (work.Shape, int64) {
	p := t.cluster.Partition(0)
	class := t.progress.Classes[0]
	jobs := int64(len(t.progress.Left()))
	width := min(t.progress.Width, jobs)
	depth := (jobs + width - 1) / width
	if t.progress.Depth == 1 {
		depth = 1
	}
	s := work.Shape{Nodes: f.nodes, Node: placement.FreeNode{CPUs: p.Node.CPUs, MemoryBytes: p.Node.MemoryMB << 20, GPUs: p.Node.GPUs}}
	count := min(f.count, width)
	side := perNode(&s.Node, &class) // jobs at a time on each node
	var at int64                     // jobs at a time in an allocation
	if class.Nodes > 1 {
		s.Together = true
		s.Nodes = class.Nodes * max(f.nodes, 1)
		if f.nodes == 0 {
			s.Nodes = class.Nodes * ((width + count - 1) / count)
		}
		s.Nodes = min(s.Nodes, most(p.MostPer, int64(p.Count))/class.Nodes*class.Nodes)
		at = s.Nodes / class.Nodes
	} else {
		if s.Nodes == 0 {
			s.Nodes = (width + side*count - 1) / (side * count)
		}
		s.Nodes = min(s.Nodes, most(p.MostPer, int64(p.Count)))
		side = min(side, (width+count*s.Nodes-1)/(count*s.Nodes))
		at = side * s.Nodes
		if !p.Whole { // no more than the jobs need
			s.Node = placement.FreeNode{CPUs: side * class.CPUs, MemoryBytes: side * class.MemoryBytes, GPUs: side * class.GPUs}
		}
	}
	rows := max((width+count*at-1)/(count*at)*depth, (jobs+count*at-1)/(count*at))
	busy := time.Duration(float64(rows*class.RuntimeSeconds)*f.stretch) * time.Second
	busy = max(busy, time.Duration(class.RuntimeSeconds)*time.Second)
	walltime := max(work.Margins.WalltimeWithin(busy, 0), shortest)
	s.Walltime = min(int64(walltime/time.Second), p.Limit)
	return s, count
}

// perNode returns how many jobs of a class a node runs at a time.
func perNode(n *placement.FreeNode, c *placement.Class) int64 {
	side := n.CPUs / max(c.CPUs, 1)
	if c.MemoryBytes > 0 {
		side = min(side, n.MemoryBytes/c.MemoryBytes)
	}
	if c.GPUs > 0 {
		side = min(side, n.GPUs/c.GPUs)
	}
	return max(side, 1)
}

// most returns a limit, where 0 is none, or another if that is less.
func most(limit, other int64) int64 {
	if limit == 0 {
		return other
	}
	return min(limit, other)
}
