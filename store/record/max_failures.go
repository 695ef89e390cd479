package record

import (
	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
)

// ForgiveFailures stops counting the failures so far, before their claim hold is released.
func ForgiveFailures(tx *core.Tx, r *view.Run) error {
	failed, err := core.FailedJobs(tx, r)
	if err != nil {
		return err
	}
	_, err = tx.Exec(`UPDATE claim_hold SET evidence = json_set(evidence, '$.forgiven', ?) WHERE workflow_id = ? AND kind = 'max_failures' AND ended_ms = 0`,
		failed, r.WorkflowID)
	return sqlite.Wrap(err, "forgive the failures of workflow %d", r.WorkflowID)
}
