package store

import (
	"context"
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// CancelWorkflow cancels a workflow: the jobs that runners hold are canceled
// and the runners told, and nothing more is claimed. Jobs that have not begun
// stay as they are. Canceling again changes nothing.
func (s *Store) CancelWorkflow(_ context.Context, id int64) (workflow.Workflow, error) {
	var w workflow.Workflow
	err := s.writer.do("cancel workflow", func(tx *Tx) error {
		r, err := tx.run(id)
		if err != nil {
			return err
		}
		if r.compensating() {
			const why = workflow.CompensationStopped
			if err := tx.endCompensation(r, why); err != nil {
				return err
			}
			if _, err := tx.cancelAllocations(id, why); err != nil {
				return err
			}
		}
		if !r.canceled {
			if err := tx.cancel(r); err != nil {
				return err
			}
		}
		w, err = getWorkflow(tx, id)
		return err
	})
	return w, err
}

func (tx *Tx) cancel(r *run) error {
	err := tx.event(r.workflowID, string(workflow.EventWorkflowCanceled), workflow.SeverityWarning, workflow.WorkflowCanceledPayload{
		Category: workflow.CategoryWorkflow, Message: fmt.Sprintf("Canceled workflow %d", r.workflowID), WorkflowID: r.workflowID, RunID: r.runID,
	})
	if err != nil {
		return err
	}
	return tx.stop(r, "the workflow was canceled")
}

// stop takes from runners what is live in a run; nothing more is claimed.
func (tx *Tx) stop(r *run, why string) error {
	if err := tx.execOne(`UPDATE workflow SET is_canceled = 1, is_halted = 1 WHERE id = ?`, r.workflowID); err != nil {
		return fmt.Errorf("cancel workflow %d: %w", r.workflowID, err)
	}
	r.canceled, r.halted = true, true
	const live = `status IN (3, 4)`
	if err := tx.voidLeases(r, live, 0, why); err != nil {
		return err
	}
	columns := `fence = fence + 1, not_before_ms = 0, phase = 0, recovery = NULL, hold = NULL`
	if _, err := tx.moveJobs(r.workflowID, workflow.Canceled, columns, live); err != nil {
		return err
	}
	if err := tx.countGates(r.workflowID); err != nil {
		return err
	}
	if err := tx.everyRunner(r.workflowID); err != nil {
		return err
	}
	if _, err := tx.cancelAllocations(r.workflowID, why); err != nil {
		return err
	}
	tx.changes.Ended = appendNew(tx.changes.Ended, []int64{r.workflowID})
	return tx.endIfOver(r.workflowID)
}

// everyRunner notes that the orders of all runners of a workflow changed.
func (tx *Tx) everyRunner(workflowID int64) error {
	ids, err := tx.idsOf(`SELECT id FROM compute_node WHERE workflow_id = ? AND is_active = 1`, workflowID)
	if err != nil {
		return fmt.Errorf("find the runners of workflow %d: %w", workflowID, err)
	}
	tx.changes.Runners = appendNew(tx.changes.Runners, ids)
	return nil
}
