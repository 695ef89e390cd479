package forecast

import (
	"slices"
	"time"

	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// Vacancies are what is free on the nodes of a cluster, less what has been taken of it.
type Vacancies struct {
	cluster *Cluster
	now     time.Time
	free    []placement.FreeNode // by the index of the node
}

// Vacancies returns what is free at the given time. A nil cluster has no vacancies.
func (c *Cluster) Vacancies(now time.Time) *Vacancies {
	v := &Vacancies{cluster: c, now: now}
	if c == nil {
		v.cluster = &Cluster{}
		return v
	}
	v.free = make([]placement.FreeNode, len(c.Nodes))
	for i := range c.Nodes {
		if n := &c.Nodes[i]; n.Usable && !n.Planned {
			v.free[i] = n.Free
		}
	}
	return v
}

// Clone returns a copy from which can be taken without an effect on v.
func (v *Vacancies) Clone() *Vacancies {
	return &Vacancies{cluster: v.cluster, now: v.now, free: slices.Clone(v.free)}
}

// Take reports whether the allocation could start now, and then takes its resources. A
// shared allocation gets the fullest nodes that have room, so that larger vacancies remain.
func (v *Vacancies) Take(r *Request) bool {
	nodes := v.nodes(r)
	if int64(len(nodes)) < max(r.Nodes, 1) {
		return false
	}
	slices.SortStableFunc(nodes, func(a, b int) int { return int(v.free[a].CPUs - v.free[b].CPUs) })
	for _, i := range nodes[:max(r.Nodes, 1)] {
		v.take(i, r)
	}
	return true
}

// Nodes returns how many nodes could take their part of the allocation now.
func (v *Vacancies) Nodes(r *Request) int64 { return int64(len(v.nodes(r))) }

// Largest returns the largest vacancy of a node on which a part of the allocation could
// run; its CPUs are 0 if there is none. Of equal ones it is that with most memory.
func (v *Vacancies) Largest(r *Request) (most placement.FreeNode) {
	for _, i := range v.nodes(r) {
		if f := v.free[i]; f.CPUs > most.CPUs || f.CPUs == most.CPUs && f.MemoryBytes > most.MemoryBytes {
			most = f
		}
	}
	most.Name = ""
	return most
}

// Use takes the resources of an allocation that has started on the named nodes after the
// cluster was observed.
func (v *Vacancies) Use(hosts []string, r *Request) {
	for i := range v.cluster.Nodes {
		if slices.Contains(hosts, v.cluster.Nodes[i].Name) {
			v.take(i, r)
		}
	}
}

func (v *Vacancies) take(i int, r *Request) {
	f := &v.free[i]
	if r.WholeNodes {
		*f = placement.FreeNode{}
		return
	}
	f.CPUs = max(f.CPUs-max(r.Node.CPUs, 1), 0)
	f.MemoryBytes = max(f.MemoryBytes-r.Node.MemoryBytes, 0)
	f.GPUs = max(f.GPUs-r.Node.GPUs, 0)
}

// nodes returns the indices of the nodes that could take their part of the allocation now.
func (v *Vacancies) nodes(r *Request) (fit []int) {
	if r.Unclear {
		return nil
	}
	for i := range v.free {
		if v.has(i, r) && v.cluster.allows(&v.cluster.Nodes[i], r, v.now) {
			fit = append(fit, i)
		}
	}
	return fit
}

// has reports whether a node has enough free resources.
func (v *Vacancies) has(i int, r *Request) bool {
	n, f := &v.cluster.Nodes[i], &v.free[i]
	if r.WholeNodes && (!n.Idle() || *f != n.Free) {
		return false
	}
	return f.CPUs >= max(r.Node.CPUs, 1) && f.MemoryBytes >= r.Node.MemoryBytes && f.GPUs >= r.Node.GPUs
}

// allows reports whether the allocation may use a node, if it starts now.
func (c *Cluster) allows(n *Node, r *Request, now time.Time) bool {
	return r.names(n) && !slices.ContainsFunc(c.Reservations, func(x Reservation) bool {
		return x.blocks(n.Name, r.Reservation, now, r.Walltime)
	}) && c.reserves(n, r, now)
}

// reserves reports whether a node belongs to the reservation that the allocation names, and
// the reservation lasts long enough; true if it names none.
func (c *Cluster) reserves(n *Node, r *Request, now time.Time) bool {
	return r.Reservation == "" || slices.ContainsFunc(c.Reservations, func(x Reservation) bool {
		return x.Name == r.Reservation && contains(x.Nodes, n.Name) && !now.Before(x.Start) && !now.Add(r.Walltime).After(x.End)
	})
}

// names reports whether the request admits a node by its name, partitions and features.
func (r *Request) names(n *Node) bool {
	in := func(partition string) bool { return slices.Contains(n.Partitions, partition) }
	lacks := func(feature string) bool { return !slices.Contains(n.Features, feature) }
	return (len(r.Partitions) == 0 || slices.ContainsFunc(r.Partitions, in)) &&
		(r.Hosts == nil || contains(r.Hosts, n.Name)) &&
		!contains(r.Exclude, n.Name) && !slices.ContainsFunc(r.Features, lacks)
}

func contains(sorted []string, name string) bool {
	_, found := slices.BinarySearch(sorted, name)
	return found
}
