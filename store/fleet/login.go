package fleet

import (
	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow/action"
)

// leftForAllocations reports whether a runner outside of the daemon's host may still have
// something to do for a workflow: an open job, its compensation, or actions at its end.
func leftForAllocations(tx *core.Tx, workflowID int64) (left bool, err error) {
	err = tx.Row(`SELECT EXISTS (SELECT 1 FROM claim_class c JOIN job j ON j.class_id = c.id AND j.child_id IS NULL AND j.status IN {open}
			WHERE c.workflow_id = ?1 AND c.login = 0)
		OR EXISTS (SELECT 1 FROM stage WHERE workflow_id = ?1 AND kind = 'compensation' AND state != 'ended')
		OR EXISTS (SELECT 1 FROM workflow_action WHERE workflow_id = ?1 AND trigger_type = ?2 AND executed = 0)`,
		[]any{workflowID, action.TriggerWorkflowComplete}, &left)
	return left, sqlite.Wrap(err, "check for work of workflow %d in allocations", workflowID)
}
