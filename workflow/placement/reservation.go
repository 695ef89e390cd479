package placement

import (
	"cmp"
	"slices"
)

// Reserve keeps room for a job of a class that other jobs have overtaken for too long
// and that still does not fit. It selects the node that lacks the least for the job, or
// the nodes if the job needs several. On these, Take assigns no more jobs that would have
// to end before the reserved job can start. The argument total is the offer of the runner
// while it is idle, with the same nodes. Reserve returns false and reserves nothing if
// the runner can never take such a job.
func (p *Packer) Reserve(c Class, total Offer) bool {
	if ok, _ := NewPacker(total).Fits(c); !ok || len(total.Nodes) != len(p.nodes) || total.IgnoreResources {
		return false
	}
	var able []int
	for i, n := range total.Nodes {
		if hosts(n, c) {
			able = append(able, i)
		}
	}
	if c.Nodes > 1 {
		slices.SortStableFunc(able, func(a, b int) int { return compareBool(p.nodes[a].Busy, p.nodes[b].Busy) })
		for _, i := range able[:c.Nodes] {
			p.nodes[i] = FreeNode{Name: p.nodes[i].Name, Busy: true}
		}
		return true
	}
	i := slices.MinFunc(able, func(a, b int) int { return compareLack(p.nodes[a], p.nodes[b], c) })
	n, whole := &p.nodes[i], total.Nodes[i]
	n.CPUs = min(n.CPUs, whole.CPUs-c.CPUs)
	n.MemoryBytes = min(n.MemoryBytes, whole.MemoryBytes-c.MemoryBytes)
	n.GPUs = min(n.GPUs, whole.GPUs-c.GPUs)
	n.Busy = true
	return true
}

// compareLack orders nodes by how much they lack of what the job needs.
func compareLack(a, b FreeNode, c Class) int {
	return cmp.Or(
		cmp.Compare(max(0, c.GPUs-a.GPUs), max(0, c.GPUs-b.GPUs)),
		cmp.Compare(max(0, c.CPUs-a.CPUs), max(0, c.CPUs-b.CPUs)),
		cmp.Compare(max(0, c.MemoryBytes-a.MemoryBytes), max(0, c.MemoryBytes-b.MemoryBytes)),
	)
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
