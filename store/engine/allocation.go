package engine

import (
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/event"
)

// HasWorkflow reports whether a workflow exists and is visible. Allocations may outlive
// theirs.
func HasWorkflow(tx *core.Tx, id int64) (has bool, err error) {
	err = tx.Row(`SELECT EXISTS (SELECT 1 FROM workflow WHERE id = ? AND is_hidden = 0)`, []any{id}, &has)
	return has, err
}

// AllocationEvent records an event about an allocation, if its workflow still exists.
func AllocationEvent(tx *core.Tx, a *compute.Allocation, kind workflow.EventType, severity event.Severity, p compute.AllocationPayload) error {
	tx.Changes.Allocations = true
	has, err := HasWorkflow(tx, a.WorkflowID)
	if err != nil || !has {
		return err
	}
	p.Category, p.AllocationID, p.SlurmJobID, p.RestartCount = event.CategoryScheduler, a.ID, a.SlurmJobID, a.RestartCount
	if p.State == "" {
		p.State = a.State
	}
	return tx.Event(a.WorkflowID, string(kind), severity, p)
}

// CancelAllocations requests the cancellation of every live allocation of a workflow. It
// returns how many there were.
func CancelAllocations(tx *core.Tx, workflowID int64, why string) (int64, error) {
	return RequestCancel(tx, `workflow_id = ?`, workflowID, why)
}

// RequestCancel requests the cancellation of the live allocations that meet a condition. It
// returns how many there were.
func RequestCancel(tx *core.Tx, condition string, arg any, why string) (int64, error) {
	all, err := sqlite.Select(tx, view.ScanAllocation, `SELECT `+view.AllocationColumns+` FROM allocation WHERE state != 'ended' AND cancel_ms = 0 AND superseded_ms = 0 AND `+condition, arg)
	if err != nil {
		return 0, fmt.Errorf("find allocations to cancel: %w", err)
	}
	for i := range all {
		a := &all[i]
		if err := tx.ExecOne(`UPDATE allocation SET cancel_ms = ?, cancel_why = ? WHERE id = ? AND cancel_ms = 0`, tx.NowMS, why, a.ID); err != nil {
			return 0, fmt.Errorf("request cancel of allocation %d: %w", a.ID, err)
		}
		err := AllocationEvent(tx, a, compute.EventAllocationCanceling, event.SeverityInfo, compute.AllocationPayload{Reason: why})
		if err != nil {
			return 0, err
		}
	}
	tx.Changes.Cancels = tx.Changes.Cancels || len(all) > 0
	return int64(len(all)), nil
}
