package store

import (
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// resetActions arms the actions of a workflow anew, by the statuses of their
// jobs, and deletes those that a recovery made.
func (tx *Tx) resetActions(workflowID int64, onlyUninitialized bool) error {
	rows, err := tx.query(`SELECT `+actionColumns+` FROM workflow_action WHERE workflow_id = ? ORDER BY id`, workflowID)
	if err != nil {
		return fmt.Errorf("read the actions of workflow %d: %w", workflowID, err)
	}
	actions, err := collect(rows, scanAction)
	if err != nil {
		return fmt.Errorf("read the actions of workflow %d: %w", workflowID, err)
	}
	for _, a := range actions {
		if err := tx.resetAction(a, onlyUninitialized); err != nil {
			return fmt.Errorf("reset action %d: %w", a.ID, err)
		}
	}
	return nil
}

func (tx *Tx) resetAction(a workflow.ActionRecord, onlyUninitialized bool) error {
	rows, err := tx.query(`SELECT j.status FROM workflow_action_job aj JOIN job j ON j.id = aj.job_id WHERE aj.action_id = ?`, a.ID)
	if err != nil {
		return err
	}
	statuses, err := collect(rows, func(r rowScanner) (s workflow.JobStatus, err error) { return s, r.Scan(&s) })
	if err != nil {
		return err
	}
	a, stays := workflow.ResetAction(a, onlyUninitialized, statuses)
	if !stays {
		return tx.execOne(`DELETE FROM workflow_action WHERE id = ?`, a.ID)
	}
	return tx.execOne(`UPDATE workflow_action SET trigger_count = ?, executed = ?, executed_at = ?, executed_by = ?, taken_ms = ? WHERE id = ?`,
		a.TriggerCount, a.Executed, a.ExecutedAt, a.ExecutedBy, a.TakenMS, a.ID)
}
