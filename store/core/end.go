package core

import (
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

// StatusCounts returns how many jobs of a workflow are in each status, including the
// changes of this use case.
func StatusCounts(tx *Tx, workflowID int64) (c stage.Counts, err error) {
	if err := tx.flushCounts(); err != nil {
		return c, err
	}
	err = tx.Each(`SELECT status, n FROM job_count WHERE workflow_id = ?`, func(r sqlite.Scanner) error {
		var status workflow.JobStatus
		var n int64
		err := r.Scan(&status, &n)
		c.ByStatus[status] = n
		return err
	}, workflowID)
	return c, sqlite.Wrap(err, "count the jobs of workflow %d", workflowID)
}
