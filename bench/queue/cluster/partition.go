package cluster

import (
	"slices"
)

// Partition describes nodes that are alike.
type Partition struct {
	Name    string
	Count   int // nodes
	Node    Resources
	Whole   bool  // jobs get whole nodes
	Limit   int64 // the longest time limit, in seconds
	MostPer int64 // nodes of a job; 0: no limit
}

// CPUs returns how many CPUs the partition has.
func (p *Partition) CPUs() int64 { return int64(p.Count) * p.Node.CPUs }

// partition is the state of a partition.
type partition struct {
	Partition
	nodes   []node
	idle    []int // nodes without jobs, where jobs get whole nodes; the next one is last
	queue   queue
	running []*Job
	changed bool // since the last pass of the backfill scheduler
	source  Source
	next    Arrival // of the source
	more    bool    // there is a next one
}

// node is the state of a node.
type node struct {
	free Resources
	jobs []*Job // of shared nodes, by the end of their time limit
}

func newPartition(p Partition) *partition {
	s := &partition{Partition: p, nodes: make([]node, p.Count)}
	for i := range s.nodes {
		s.nodes[i].free = p.Node
		if p.Whole {
			s.idle = append(s.idle, p.Count-1-i)
		}
	}
	return s
}

// clone copies the state; jobs are copied once for all partitions.
func (p *partition) clone(copied func(*Job) *Job) *partition {
	c := *p
	c.nodes = slices.Clone(p.nodes)
	for i := range c.nodes {
		c.nodes[i].jobs = copyAll(p.nodes[i].jobs, copied)
	}
	c.idle = slices.Clone(p.idle)
	c.queue = copyAll(p.queue, copied)
	c.running = copyAll(p.running, copied)
	if p.source != nil {
		c.source = p.source.Clone()
	}
	return &c
}

func copyAll(jobs []*Job, copied func(*Job) *Job) []*Job {
	out := make([]*Job, len(jobs))
	for i, j := range jobs {
		out[i] = copied(j)
	}
	return out
}

// find returns nodes on which the job could start now; nil if there are not enough. Nodes
// with the least free CPUs come first, so that others stay free for larger jobs.
func (p *partition) find(j *Job) []int {
	if p.Whole {
		n := len(p.idle)
		if int64(n) < j.Nodes {
			return nil
		}
		found := slices.Clone(p.idle[n-int(j.Nodes):])
		slices.Sort(found)
		return found
	}
	if j.Nodes == 1 {
		if best := p.tightest(j.Each); best >= 0 {
			return []int{best}
		}
		return nil
	}
	var found []int
	for i := range p.nodes {
		if p.nodes[i].free.holds(j.Each) {
			if found = append(found, i); int64(len(found)) == j.Nodes {
				return found
			}
		}
	}
	return nil
}

// tightest returns the node with the least free CPUs on which the need fits; -1 if there is none.
func (p *partition) tightest(need Resources) int {
	best := -1
	for i := range p.nodes {
		f := &p.nodes[i].free
		if f.holds(need) && (best < 0 || f.CPUs < p.nodes[best].free.CPUs) {
			best = i
		}
	}
	return best
}

// occupy gives nodes to a job.
func (p *partition) occupy(j *Job, nodes []int) {
	j.Placed = nodes
	takes := j.takes(&p.Partition)
	for _, i := range nodes {
		n := &p.nodes[i]
		n.free = n.free.minus(takes)
		if !p.Whole {
			end := j.Start + j.Limit
			at, _ := slices.BinarySearchFunc(n.jobs, end, func(o *Job, end int64) int { return compareTimes(o.Start+o.Limit, end) })
			n.jobs = slices.Insert(n.jobs, at, j)
		}
	}
	if p.Whole {
		p.idle = slices.DeleteFunc(p.idle, func(i int) bool { return p.nodes[i].free.CPUs == 0 })
	}
	j.index = len(p.running)
	p.running = append(p.running, j)
}

// release takes the nodes of a job back.
func (p *partition) release(j *Job) {
	takes := j.takes(&p.Partition)
	for _, i := range j.Placed {
		n := &p.nodes[i]
		n.free = n.free.plus(takes)
		if p.Whole {
			p.idle = append(p.idle, i)
		} else {
			n.jobs = slices.Delete(n.jobs, slices.Index(n.jobs, j), slices.Index(n.jobs, j)+1)
		}
	}
	last := p.running[len(p.running)-1]
	p.running[j.index], last.index = last, j.index
	p.running = p.running[:len(p.running)-1]
	p.changed = true
}

// fits reports whether the partition accepts a job at all.
func (p *Partition) fits(r *Request) bool {
	return r.Nodes >= 1 && r.Nodes <= int64(p.Count) && (p.MostPer == 0 || r.Nodes <= p.MostPer) && p.Node.holds(r.Each) &&
		r.Limit >= 1 && r.Limit <= p.Limit
}

func compareTimes(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
