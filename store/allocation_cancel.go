package store

import (
	"context"
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// RequestCancel decides that live allocations are to be canceled, and why,
// before anybody tells Slurm. It returns how many of them had not been decided
// on before.
func (s *Store) RequestCancel(_ context.Context, ids []int64, why string) (n int64, err error) {
	err = s.writer.do("request cancel of allocations", func(tx *Tx) (err error) {
		n, err = tx.requestCancel(`id IN (SELECT value FROM json_each(?))`, idList(ids), why)
		return err
	})
	return n, err
}

// CancelPending is RequestCancel for an allocation that was not needed when
// somebody looked: not once it is known to run, as its runner may have claimed
// jobs since. It reports whether it is to be canceled.
func (s *Store) CancelPending(_ context.Context, id int64, why string) (canceled bool, err error) {
	err = s.writer.do("request cancel of a pending allocation", func(tx *Tx) error {
		n, err := tx.requestCancel(`state != 'active' AND id = ?`, id, why)
		canceled = n > 0
		return err
	})
	return canceled, err
}

// RequestCancelAll is RequestCancel for every live allocation of a workflow.
func (s *Store) RequestCancelAll(_ context.Context, workflowID int64, why string) (n int64, err error) {
	err = s.writer.do("request cancel of the allocations of a workflow", func(tx *Tx) (err error) {
		if err := tx.requireWorkflow(workflowID); err != nil {
			return err
		}
		n, err = tx.cancelAllocations(workflowID, why)
		return err
	})
	return n, err
}

// cancelAllocations decides that every live allocation of a workflow is to be
// canceled.
func (tx *Tx) cancelAllocations(workflowID int64, why string) (int64, error) {
	return tx.requestCancel(`workflow_id = ?`, workflowID, why)
}

func (tx *Tx) requestCancel(condition string, arg any, why string) (int64, error) {
	rows, err := tx.query(`SELECT `+allocationColumns+` FROM allocation WHERE state != 'ended' AND cancel_ms = 0 AND superseded_ms = 0 AND `+condition, arg)
	if err != nil {
		return 0, fmt.Errorf("find allocations to cancel: %w", err)
	}
	all, err := collect(rows, scanAllocation)
	if err != nil {
		return 0, fmt.Errorf("find allocations to cancel: %w", err)
	}
	for i := range all {
		a := &all[i]
		if err := tx.execOne(`UPDATE allocation SET cancel_ms = ?, cancel_why = ? WHERE id = ? AND cancel_ms = 0`, tx.nowMS, why, a.ID); err != nil {
			return 0, fmt.Errorf("request cancel of allocation %d: %w", a.ID, err)
		}
		err := tx.allocationEvent(a, workflow.EventAllocationCanceling, workflow.SeverityInfo, workflow.AllocationPayload{Reason: why})
		if err != nil {
			return 0, err
		}
	}
	tx.changes.Cancels = tx.changes.Cancels || len(all) > 0
	return int64(len(all)), nil
}

// SendingCancel notes that scancel is about to be sent for allocations: for
// such whose cancellation was decided, and for such that have ended, but not
// for Slurm. It hits whatever life the Slurm job is in by then.
func (s *Store) SendingCancel(_ context.Context, ids []int64) error {
	return s.writer.do("note the cancel of allocations", func(tx *Tx) error {
		_, err := tx.exec(`UPDATE allocation SET cancel_sent_ms = ?, cancel_tries = cancel_tries + 1
			WHERE (id IN (SELECT value FROM json_each(?2)) OR state IN ('pending', 'active') AND (intent_id, slurm_job_id) IN
				(SELECT intent_id, slurm_job_id FROM allocation WHERE id IN (SELECT value FROM json_each(?2))))
			AND (state = 'ended' OR cancel_ms != 0)`, tx.nowMS, idList(ids))
		if err != nil {
			return fmt.Errorf("note the cancel of %d allocations: %w", len(ids), err)
		}
		return nil
	})
}
