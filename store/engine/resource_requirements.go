package engine

import (
	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// InsertRequirements stores requirements without restrictions on their name.
func InsertRequirements(tx *core.Tx, q workflow.ResourceRequirements) (int64, error) {
	memory, runtime, err := Measure(q)
	if err != nil {
		return 0, err
	}
	id, err := tx.Insert(`INSERT INTO resource_requirements
		(workflow_id, name, num_cpus, num_gpus, num_nodes, memory, runtime, memory_bytes, runtime_s) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		q.WorkflowID, q.Name, q.NumCPUs, q.NumGPUs, q.NumNodes, q.Memory, q.Runtime, memory, runtime)
	return id, sqlite.Wrap(err, "insert resource requirements %q", q.Name)
}

// Measure checks requirements. It returns their memory in bytes and their runtime in
// seconds.
func Measure(q workflow.ResourceRequirements) (memory, runtime int64, err error) {
	if err := workflow.CheckName("set of resource requirements", q.Name); err != nil {
		return 0, 0, err
	}
	for _, n := range []struct {
		field string
		value int64
		least int64
	}{{"num_cpus", q.NumCPUs, 1}, {"num_nodes", q.NumNodes, 1}, {"num_gpus", q.NumGPUs, 0}} {
		if n.value < n.least {
			return 0, 0, workflow.Errorf(workflow.CodeInvalid, "resource requirements %q: %s must be at least %d, not %d", q.Name, n.field, n.least, n.value)
		}
	}
	if memory, err = workflow.ParseMemory(q.Memory); err != nil {
		return 0, 0, err
	}
	runtime, err = workflow.ParseRuntime(q.Runtime)
	return memory, runtime, err
}
