package engine

import (
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/event"
)

// CancelRun logs that a run is canceled, and stops it.
func CancelRun(tx *core.Tx, r *view.Run) error {
	err := tx.Event(r.WorkflowID, string(workflow.EventWorkflowCanceled), event.SeverityWarning, event.WorkflowCanceledPayload{
		Category: event.CategoryWorkflow, Message: fmt.Sprintf("Canceled workflow %d", r.WorkflowID), WorkflowID: r.WorkflowID, RunID: r.RunID,
	})
	if err != nil {
		return err
	}
	return stopRun(tx, r, "the workflow was canceled")
}

// stopRun ends the live jobs of a run and prevents further claims.
func stopRun(tx *core.Tx, r *view.Run, why string) error {
	if err := tx.ExecOne(`UPDATE workflow SET is_canceled = 1, is_halted = 1 WHERE id = ?`, r.WorkflowID); err != nil {
		return fmt.Errorf("cancel workflow %d: %w", r.WorkflowID, err)
	}
	r.Canceled, r.Halted = true, true
	const live = `status IN {live}`
	if err := VoidLeases(tx, r, live, 0, why); err != nil {
		return err
	}
	if _, err := core.MoveJobs(tx, workflow.OpCancel, r.WorkflowID, workflow.Canceled, asCanceled, live); err != nil {
		return err
	}
	if err := CountGates(tx, r.WorkflowID); err != nil {
		return err
	}
	if err := NotifyRunners(tx, r.WorkflowID); err != nil {
		return err
	}
	if _, err := CancelAllocations(tx, r.WorkflowID, why); err != nil {
		return err
	}
	tx.Changes.Ended = core.AppendNew(tx.Changes.Ended, []int64{r.WorkflowID})
	return EndIfOver(tx, r.WorkflowID)
}

// NotifyRunners notifies all runners of a workflow of changed orders.
func NotifyRunners(tx *core.Tx, workflowID int64) error {
	ids, err := core.IDsOf(tx, `SELECT id FROM compute_node WHERE workflow_id = ? AND is_active = 1`, workflowID)
	if err != nil {
		return fmt.Errorf("find the runners of workflow %d: %w", workflowID, err)
	}
	tx.Changes.Runners = core.AppendNew(tx.Changes.Runners, ids)
	return nil
}
