package core

import (
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

// StatusCounts returns how many jobs of a workflow are in each status, including the
// changes of this use case.
func StatusCounts(tx *Tx, workflowID int64) (c stage.Counts, err error) {
	if err := tx.flushCounts(); err != nil {
		return c, err
	}
	rows, err := tx.Query(`SELECT status, n FROM job_count WHERE workflow_id = ?`, workflowID)
	if err != nil {
		return c, fmt.Errorf("count the jobs of workflow %d: %w", workflowID, err)
	}
	defer rows.Close()
	for rows.Next() {
		var status workflow.JobStatus
		var n int64
		if err := rows.Scan(&status, &n); err != nil {
			return c, fmt.Errorf("count the jobs of workflow %d: %w", workflowID, err)
		}
		c.ByStatus[status] = n
	}
	return c, rows.Err()
}
