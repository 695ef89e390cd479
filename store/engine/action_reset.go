package engine

import (
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/action"
)

// resetActions sets the actions of a workflow back according to the statuses of their jobs,
// and deletes the actions of recoveries.
func resetActions(tx *core.Tx, workflowID int64, onlyUninitialized bool) error {
	actions, err := sqlite.Select(tx, view.ScanAction, `SELECT `+view.ActionColumns+` FROM workflow_action WHERE workflow_id = ? ORDER BY id`, workflowID)
	if err != nil {
		return fmt.Errorf("read the actions of workflow %d: %w", workflowID, err)
	}
	for _, a := range actions {
		if err := resetAction(tx, a, onlyUninitialized); err != nil {
			return fmt.Errorf("reset action %d: %w", a.ID, err)
		}
	}
	return nil
}

func resetAction(tx *core.Tx, a action.Record, onlyUninitialized bool) error {
	statuses, err := sqlite.Select(tx, func(r sqlite.Scanner) (s workflow.JobStatus, err error) { return s, r.Scan(&s) },
		`SELECT j.status FROM workflow_action_job aj JOIN job j ON j.id = aj.job_id WHERE aj.action_id = ?`, a.ID)
	if err != nil {
		return err
	}
	a, stays := action.Reset(a, onlyUninitialized, statuses)
	if !stays {
		return tx.ExecOne(`DELETE FROM workflow_action WHERE id = ?`, a.ID)
	}
	return tx.ExecOne(`UPDATE workflow_action SET trigger_count = ?, executed = ?, executed_at = ?, executed_by = ?, taken_ms = ? WHERE id = ?`,
		a.TriggerCount, a.Executed, a.ExecutedAt, a.ExecutedBy, a.TakenMS, a.ID)
}
