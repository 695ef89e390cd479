package engine

import (
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
)

// storeHashes stores the input hashes of the jobs of a workflow.
func storeHashes(tx *core.Tx, workflowID int64) error {
	changed, err := view.ChangedHashes(tx.Query, workflowID)
	if err != nil {
		return err
	}
	update := tx.NewBulkStatement(2, `UPDATE job SET input_hash = v.column2 FROM (VALUES `, `) v WHERE job.id = v.column1`)
	for i := range changed {
		if err := update.Add(changed[i].ID, changed[i].Now); err != nil {
			return fmt.Errorf("store the hashes of jobs of workflow %d: %w", workflowID, err)
		}
	}
	err = update.Flush()
	return sqlite.Wrap(err, "store the hashes of jobs of workflow %d", workflowID)
}
