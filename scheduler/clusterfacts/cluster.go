// Package clusterfacts turns what Slurm says of its nodes and reservations into the facts
// of a forecast, and asks for it: rarely, and within the budget of calls.
package clusterfacts

import (
	"slices"
	"time"

	"github.com/torc-slurm/torc-slurm/scheduler/forecast"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// UnknownMemory is the memory of a node in bytes where Slurm does not count memory: as
// much as a request may want.
const UnknownMemory = 1 << 50

// leastMemory is what a node has where memory is counted. Slurm says 1 MiB where nobody
// has configured it.
const leastMemory = 2 * slurm.MiB

// forever is the end of a reservation whose end is not known.
const forever = 10 * 365 * 24 * time.Hour

// Of returns what the cluster was like when Slurm was asked. Nothing is free on a node
// that is not usable, or on which a job is just ending.
func Of(nodes []slurm.NodeLoad, reservations []slurm.Reservation, at time.Time) forecast.Cluster {
	c := forecast.Cluster{At: at}
	for i := range reservations {
		if r := reservationOf(&reservations[i], nodes, at); len(r.Nodes) > 0 && r.End.After(at) {
			c.Reservations = append(c.Reservations, r)
		}
	}
	for i := range nodes {
		c.Nodes = append(c.Nodes, nodeOf(&nodes[i], &c))
	}
	return c
}

// nodeOf returns a node. The reservations of the cluster are those that are shown: a node
// in one that is not shown is not usable.
func nodeOf(n *slurm.NodeLoad, c *forecast.Cluster) forecast.Node {
	out := forecast.Node{
		Name: n.Name, Partitions: n.Partitions, Features: n.Features, Usable: n.Usable(), Planned: n.Planned(),
		Whole: placement.FreeNode{Name: n.Name, CPUs: int64(n.CPUs), MemoryBytes: n.Memory, GPUs: n.GPUs},
		Free:  placement.FreeNode{Name: n.Name, CPUs: int64(n.FreeCPUs()), MemoryBytes: n.FreeMemory(), GPUs: n.FreeGPUs(), Busy: busy(n)},
	}
	if n.Memory < leastMemory {
		out.Whole.MemoryBytes, out.Free.MemoryBytes = UnknownMemory, UnknownMemory
	}
	if (n.Reserved() || n.Maintenance()) && !isReserved(c, n.Name) {
		out.Usable = false
	}
	if !out.Usable || n.State == "completing" {
		out.Free = placement.FreeNode{Name: n.Name, Busy: out.Free.Busy}
	}
	return out
}

// busy reports whether a job is on a node.
func busy(n *slurm.NodeLoad) bool {
	switch n.State {
	case "allocated", "mixed", "completing", "draining":
		return true
	}
	return n.AllocatedCPUs > 0 || n.AllocatedMemory > 0 || n.AllocatedGPUs > 0
}

// isReserved reports whether a reservation has a node now.
func isReserved(c *forecast.Cluster, node string) bool {
	return slices.ContainsFunc(c.Reservations, func(r forecast.Reservation) bool {
		_, has := slices.BinarySearch(r.Nodes, node)
		return has && !r.Start.After(c.At)
	})
}

// reservationOf returns a reservation. One of some cores has all of their nodes: which
// cores jobs would get is not known. Jobs that do not name a reservation cannot use it,
// whatever its flags are; only one of licenses alone keeps no nodes.
func reservationOf(r *slurm.Reservation, nodes []slurm.NodeLoad, at time.Time) forecast.Reservation {
	out := forecast.Reservation{Name: r.Name, Start: r.Start, End: r.End}
	if r.Has("LICENSE_ONLY") {
		return out
	}
	// The start of one with TIME_FLOAT moves with the clock, so that it never ends.
	if !r.End.After(r.Start) || r.Has("TIME_FLOAT") {
		out.End = at.Add(forever)
	}
	hosts, err := slurm.ExpandNodes(r.Nodes)
	if err != nil { // assume the worst: it has all nodes
		for i := range nodes {
			hosts = append(hosts, nodes[i].Name)
		}
	}
	slices.Sort(hosts)
	out.Nodes = slices.Compact(hosts)
	return out
}
