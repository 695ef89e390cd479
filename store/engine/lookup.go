package engine

import (
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// GetJob reads a job with its relations within a transaction; CodeNotFound if there is none
// with this id.
func GetJob(tx *core.Tx, id int64) (workflow.Job, error) {
	j, err := core.GetOne(tx, "job", id, view.SelectJob, new(view.JobScanner).Scan)
	if err != nil {
		return j, err
	}
	jobs := []workflow.Job{j}
	if err := view.AddRelations(tx.Query, jobs); err != nil {
		return j, fmt.Errorf("read the relations of job %d: %w", id, err)
	}
	return jobs[0], nil
}
