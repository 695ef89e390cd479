package fleet

import (
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
)

// ClaimsHeld returns the claim holds of a run. It releases those whose time is over.
func ClaimsHeld(tx *core.Tx, r *view.Run) (hold.ClaimHolds, error) {
	if r.ClaimHolds == 0 {
		return nil, nil
	}
	if err := core.ReleaseClaims(tx, r.WorkflowID, core.ClaimHoldSelection{Expired: true}, "its time is over"); err != nil {
		return nil, err
	}
	rows, err := tx.Query(`SELECT `+view.ClaimHoldColumns+` FROM claim_hold h WHERE workflow_id = ? AND `+view.HoldBinds+` ORDER BY id`, r.WorkflowID)
	if err != nil {
		return nil, fmt.Errorf("read the claim holds of workflow %d: %w", r.WorkflowID, err)
	}
	held, err := sqlite.Collect(rows, view.ScanClaimHold)
	if err != nil {
		return nil, fmt.Errorf("read the claim holds of workflow %d: %w", r.WorkflowID, err)
	}
	return held, nil
}
