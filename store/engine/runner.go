package engine

import (
	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/event"
)

// ComputeNodeStarted logs that a compute node has registered.
func ComputeNodeStarted(tx *core.Tx, n *compute.Node) error {
	return tx.Event(n.WorkflowID, string(workflow.EventComputeNodeStarted), event.SeverityInfo, map[string]any{
		"compute_node_id": n.ID, "hostname": n.Hostname, "pid": n.PID, "num_cpus": n.NumCPUs,
		"memory_gb": n.MemoryGB, "num_gpus": n.NumGPUs, "compute_node_type": n.Type,
	})
}

// ComputeNodeStopped logs that a compute node has left.
func ComputeNodeStopped(tx *core.Tx, n *compute.Node) error {
	duration := 0.0
	core.Set(&duration, n.DurationSeconds)
	return tx.Event(n.WorkflowID, string(workflow.EventComputeNodeStopped), event.SeverityInfo, map[string]any{
		"compute_node_id": n.ID, "hostname": n.Hostname, "pid": n.PID, "duration_seconds": duration, "compute_node_type": n.Type,
	})
}
