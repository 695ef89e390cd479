// Package forecast says what an allocation can expect of a cluster: whether resources for
// it are free now, how long it would be pending, and how long jobs run. Everything in it is a pure
// function of facts that others have collected.
package forecast

import (
	"time"

	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// Cluster is what a cluster was like at one moment, node by node.
type Cluster struct {
	At           time.Time // when Slurm was asked
	Nodes        []Node
	Reservations []Reservation
}

// Node is one node of a cluster and what no Slurm job uses of it.
type Node struct {
	Name       string
	Partitions []string
	Features   []string           // as --constraint names them
	Whole      placement.FreeNode // what jobs may use of it
	Free       placement.FreeNode // what no job uses now
	// Usable says that Slurm starts jobs there: it is neither down nor drained, and it
	// responds.
	Usable bool
	// Planned says that Slurm's backfill scheduler keeps it for another job.
	Planned bool
}

// CPUs returns how many CPUs the usable nodes have that a request admits, taken or not.
func (c *Cluster) CPUs(r *Request) (n int64) {
	for i := range c.Nodes {
		if c.Nodes[i].Usable && r.names(&c.Nodes[i]) {
			n += c.Nodes[i].Whole.CPUs
		}
	}
	return n
}

// Idle reports whether no job runs on the node.
func (n *Node) Idle() bool {
	return n.Usable && n.Free.CPUs == n.Whole.CPUs && n.Free.MemoryBytes == n.Whole.MemoryBytes && n.Free.GPUs == n.Whole.GPUs
}

// Reservation keeps nodes for some time, for some users or for maintenance.
type Reservation struct {
	Name       string
	Start, End time.Time
	Nodes      []string // sorted
}

// blocks reports whether the reservation prevents a job on a node: the job does not name
// it, and would run while it lasts.
func (r *Reservation) blocks(node, named string, start time.Time, walltime time.Duration) bool {
	return r.Name != named && start.Before(r.End) && start.Add(walltime).After(r.Start) && contains(r.Nodes, node)
}
