package scheduler

import (
	"fmt"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// request returns the request to Slurm for a shape. The user's own numbers
// stay unless a job needs more.
func (t *target) request(s *Shape) compute.AllocationRequest {
	r := t.base
	r.Pool, r.ActionID, r.Nodes, r.Exclude, r.Labels = t.Name, t.ActionID, s.Nodes, s.Exclude, s.Labels
	if s.Walltime > 0 && s.Walltime < noLimit {
		r.WalltimeS = int64(s.Walltime / time.Second)
	}
	r.OneRunnerPerNode = s.Nodes > 1 && !s.Together
	node := s.Node
	if t.sized {
		node = t.size(s)
	}
	if node.CPUs > t.Asks.CPUs && (t.sized || !s.WholeNodes) {
		tasks := max(r.NtasksPerNode, 1)
		r.CPUsPerNode = (node.CPUs + tasks - 1) / tasks
	}
	if node.MemoryBytes > t.Asks.MemoryBytes && r.Mem != "0" && (t.sized || !s.WholeNodes || t.Asks.MemoryBytes > 0) {
		r.Mem = slurm.FormatMemory(ceil(node.MemoryBytes, slurm.MiB))
	}
	if node.GPUs > t.Asks.GPUs && (t.sized || !s.WholeNodes || t.Asks.GPUs > 0) {
		r.Gres = fmt.Sprintf("gpu:%d", node.GPUs)
	}
	r.Offer = compute.AllocationOffer{CPUs: node.CPUs, MemoryBytes: node.MemoryBytes, GPUs: node.GPUs}
	return r
}

// size returns what to request on each node of a partition. Memory is at least
// proportional to the CPUs, since the needs of jobs without requirements are not known.
func (t *target) size(s *Shape) Resources {
	node := s.Node
	node.CPUs = max(node.CPUs, 1)
	whole, cpus := t.node.MemoryMB*slurm.MiB, t.node.CPUs
	if s.WholeNodes {
		node.MemoryBytes = whole
		return node
	}
	node.MemoryBytes = min(max(node.MemoryBytes, whole*node.CPUs/max(t.node.CPUs, 1)), whole)
	if most := t.Most.MemoryBytes / s.Nodes; most > 0 {
		node.MemoryBytes = min(node.MemoryBytes, most)
	}
	if most := t.Most.CPUs / s.Nodes; most > 0 {
		cpus = min(cpus, most)
	}
	if most := t.partition.MaxMemPerCPUMB * slurm.MiB; most > 0 {
		node.CPUs = min(max(node.CPUs, ceil(node.MemoryBytes, most)/most), cpus)
	}
	return node
}

// ceil rounds up to a multiple.
func ceil(n, unit int64) int64 { return (n + unit - 1) / unit * unit }
