package view

import (
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/sqlite"
)

// GateDependencies returns the dependencies of each gate of a workflow, ascending.
func GateDependencies(query queryFunc, workflowID int64) (map[int64][]int64, error) {
	rows, err := query(`SELECT d.gate_id, d.job_id FROM gate g JOIN gate_dependency d ON d.gate_id = g.id
		WHERE g.workflow_id = ? ORDER BY d.gate_id, d.job_id`, workflowID)
	if err != nil {
		return nil, fmt.Errorf("read the dependencies of workflow %d: %w", workflowID, err)
	}
	lists, err := CollectLists(rows)
	return lists, sqlite.Wrap(err, "read the dependencies of workflow %d", workflowID)
}
