package fleet

import (
	"cmp"
	"context"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/engine"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/event"
)

// End records how an allocation ended. Its runners leave, attempts that ran in it end with
// its cause, and jobs that were only claimed are ready again. An ended allocation is not
// changed.
func (s Allocations) End(_ context.Context, id int64, end compute.AllocationEnd) error {
	return s.shared.Do("end allocation", func(tx *core.Tx) error {
		a, err := getAllocation(tx, id)
		if err != nil || !a.IsLive() {
			return err
		}
		return endAllocation(tx, &a, end)
	})
}

func endAllocation(tx *core.Tx, a *compute.Allocation, end compute.AllocationEnd) error {
	has, err := engine.HasWorkflow(tx, a.WorkflowID)
	if err != nil {
		return fmt.Errorf("end allocation %d: %w", a.ID, err)
	}
	if !has {
		// Only this row kept the workflow's name reserved.
		return tx.ExecOne(`DELETE FROM allocation WHERE id = ?`, a.ID)
	}
	ended, returned, err := dismissRunners(tx, a, &end)
	if err != nil {
		return err
	}
	endMS := cmp.Or(end.EndMS, tx.NowMS)
	err = tx.ExecOne(`UPDATE allocation SET state = 'ended', end_ms = ?, slurm_state = iif(?2 = '', slurm_state, ?2), exit_code = ?, refusal = ?,
			node_list = ?, cause = ?, confidence = ?, cause_text = ? WHERE id = ? AND state != 'ended'`,
		endMS, end.Slurm.JobState, end.Slurm.ExitCode, cmp.Or(end.Refusal, a.Refusal), cmp.Or(a.NodeList, end.NodeList), string(end.Cause), string(end.Confidence), end.Text, a.ID)
	if err != nil {
		return fmt.Errorf("end allocation %d: %w", a.ID, err)
	}
	if a.SupersededMS == 0 && !a.IsDuplicate {
		status := compute.ScheduledComplete
		if end.Cause == compute.AllocationCanceled || end.Cause == compute.AllocationCanceledUser || end.Cause == compute.AllocationCanceledAdmin {
			status = compute.ScheduledCanceled
		}
		if err := showScheduled(tx, a, status); err != nil {
			return err
		}
	}
	if err := engine.AnnounceUnattributed(tx, a, &end); err != nil {
		return err
	}
	severity := event.SeverityInfo
	if end.Cause != compute.AllocationDone && end.Cause != compute.AllocationCanceled {
		severity = event.SeverityWarning
	}
	return engine.AllocationEvent(tx, a, compute.EventAllocationEnded, severity, compute.AllocationPayload{
		State: compute.AllocationEnded, SlurmState: cmp.Or(end.Slurm.JobState, a.SlurmState), NodeList: cmp.Or(a.NodeList, end.NodeList),
		Cause: end.Cause, Confidence: end.Confidence, Reason: end.Text, AttemptsEnded: ended, JobsReturned: returned,
	})
}
