package fleet

import (
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
	held, err := sqlite.Select(tx, view.ScanClaimHold, `SELECT `+view.ClaimHoldColumns+` FROM claim_hold h WHERE workflow_id = ? AND `+view.HoldBinds+` ORDER BY id`, r.WorkflowID)
	return held, sqlite.Wrap(err, "read the claim holds of workflow %d", r.WorkflowID)
}
