package store

import (
	"cmp"
	"context"
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// EndAllocation records how an allocation ended, with all that follows: its
// runners are gone, attempts that ran in them end by the cause, jobs that they
// had only claimed are ready again. What has ended stays as it is.
func (s *Store) EndAllocation(_ context.Context, id int64, end workflow.AllocationEnd) error {
	return s.writer.do("end allocation", func(tx *Tx) error {
		a, err := getAllocation(tx, id)
		if err != nil || !a.IsLive() {
			return err
		}
		return tx.endAllocation(&a, end)
	})
}

func (tx *Tx) endAllocation(a *workflow.Allocation, end workflow.AllocationEnd) error {
	has, err := tx.hasWorkflow(a.WorkflowID)
	if err != nil {
		return fmt.Errorf("end allocation %d: %w", a.ID, err)
	}
	if !has {
		// Nothing but this row has kept the workflow's name.
		return tx.execOne(`DELETE FROM allocation WHERE id = ?`, a.ID)
	}
	ended, returned, err := tx.dismissRunners(a, &end)
	if err != nil {
		return err
	}
	endMS := cmp.Or(end.EndMS, tx.nowMS)
	err = tx.execOne(`UPDATE allocation SET state = 'ended', end_ms = ?, slurm_state = iif(?2 = '', slurm_state, ?2), exit_code = ?, refusal = ?,
			node_list = ?, cause = ?, confidence = ?, cause_text = ? WHERE id = ? AND state != 'ended'`,
		endMS, end.Slurm.JobState, end.Slurm.ExitCode, cmp.Or(end.Refusal, a.Refusal), cmp.Or(a.NodeList, end.NodeList), string(end.Cause), string(end.Confidence), end.Text, a.ID)
	if err != nil {
		return fmt.Errorf("end allocation %d: %w", a.ID, err)
	}
	if a.SupersededMS == 0 && !a.IsDuplicate {
		status := workflow.ScheduledComplete
		if end.Cause == workflow.AllocationCanceled || end.Cause == workflow.AllocationCanceledUser || end.Cause == workflow.AllocationCanceledAdmin {
			status = workflow.ScheduledCanceled
		}
		if err := tx.showScheduled(a, status); err != nil {
			return err
		}
	}
	if err := tx.announceUnattributed(a, &end); err != nil {
		return err
	}
	severity := workflow.SeverityInfo
	if end.Cause != workflow.AllocationDone && end.Cause != workflow.AllocationCanceled {
		severity = workflow.SeverityWarning
	}
	return tx.allocationEvent(a, workflow.EventAllocationEnded, severity, workflow.AllocationPayload{
		State: workflow.AllocationEnded, SlurmState: cmp.Or(end.Slurm.JobState, a.SlurmState), NodeList: cmp.Or(a.NodeList, end.NodeList),
		Cause: end.Cause, Confidence: end.Confidence, Reason: end.Text, AttemptsEnded: ended, JobsReturned: returned,
	})
}

// dismissRunners ends the leases of the runners of an allocation. It returns
// how many attempts that ended, and how many claimed jobs are ready again.
func (tx *Tx) dismissRunners(a *workflow.Allocation, end *workflow.AllocationEnd) (ended, returned int64, err error) {
	rows, err := tx.query(selectRunners+`WHERE allocation_id = ? AND is_active = 1 AND runner_key IS NOT NULL ORDER BY id`, a.ID)
	if err != nil {
		return 0, 0, fmt.Errorf("find the runners of allocation %d: %w", a.ID, err)
	}
	runners, err := collect(rows, scanRunner)
	if err != nil {
		return 0, 0, fmt.Errorf("find the runners of allocation %d: %w", a.ID, err)
	}
	evidence := workflow.Evidence{LostRunner: true, Note: "its allocation is over: " + end.Text, Slurm: &end.Slurm}
	for i := range runners {
		e, r, err := tx.endLeasesBy(&runners[i], evidence)
		if err == nil {
			err = tx.dismiss(&runners[i], Farewell{})
		}
		if err != nil {
			return 0, 0, fmt.Errorf("end allocation %d: %w", a.ID, err)
		}
		ended, returned = ended+e, returned+r
	}
	return ended, returned, nil
}
