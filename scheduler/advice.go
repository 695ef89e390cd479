package scheduler

import (
	"fmt"
	"time"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// PartitionLoad is how busy a partition is. A zero Total means that it is unknown.
type PartitionLoad struct {
	Idle, Mixed, Allocated, Down, Total    int64 // nodes
	PendingJobs, PendingNodes, RunningJobs int64 // of all users
}

// Waits are Slurm's estimates of how long allocations would be pending if they were
// requested now; nil: there is none.
type Waits struct {
	One *time.Duration // an allocation of one node
	All *time.Duration // an allocation of all nodes
}

// Advice says in how many allocations to request nodes.
type Advice struct {
	Allocations int64
	Nodes       int64 // of each
	Strategy    string
	Reason      string
}

// The strategies of Advice.
const (
	adviseSingle = "single"
	adviseMany   = "many-small"
	adviseChunks = "chunks"
)

// Advise says how to request a number of nodes for some walltime: in one allocation if
// they are free, node by node if they are scarce.
func Advise(ideal int64, load PartitionLoad, walltime time.Duration, waits Waits) Advice {
	single := Advice{Allocations: 1, Nodes: ideal, Strategy: adviseSingle}
	if ideal <= 1 {
		single.Reason = "one node is enough"
		return single
	}
	if waits.One != nil && waits.All != nil {
		// Small allocations that run one after the other each have to wait.
		if patience := *waits.One*time.Duration(min(ideal, 10)) + walltime; *waits.All <= patience {
			single.Reason = fmt.Sprintf("Slurm would start all %d nodes together in %s", ideal, waits.All.Round(time.Second))
			return single
		}
	}
	many := Advice{Allocations: ideal, Nodes: 1, Strategy: adviseMany}
	if load.Total == 0 {
		many.Reason = "it is not known how busy the partition is: small allocations start soonest"
		return many
	}
	pressure := float64(load.PendingNodes) / float64(load.Total)
	switch {
	case load.Idle >= ideal && pressure < 0.5:
		single.Reason = fmt.Sprintf("%s idle, and few jobs are pending", workflow.CountOf(int64(load.Idle), "node is", "nodes are"))
		return single
	case load.Idle < (ideal+2)/3 || pressure > 2:
		many.Reason = fmt.Sprintf("%s idle, and jobs for %s are pending: small allocations fill gaps",
			workflow.CountOf(int64(load.Idle), "node is", "nodes are"), countOf(int64(load.PendingNodes), "node"))
		return many
	}
	size := max(2, min(load.Idle/2, 8, ideal/2))
	return Advice{Allocations: (ideal + size - 1) / size, Nodes: size, Strategy: adviseChunks,
		Reason: fmt.Sprintf("%s idle, not enough for all at once", workflow.CountOf(int64(load.Idle), "node is", "nodes are"))}
}
