package core

import (
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/event"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
)

// HoldClaims stops new claims of a run until h.UntilMS or until the hold is released. If a
// hold of this kind and name exists, the later end counts, and began is false.
func HoldClaims(tx *Tx, r *view.Run, h hold.ClaimHold) (began bool, err error) {
	h.WorkflowID, h.RunID, h.SinceMS = r.WorkflowID, r.RunID, tx.NowMS
	n, err := tx.Exec(`UPDATE claim_hold SET until_ms = iif(until_ms = 0 OR ?4 = 0, 0, MAX(until_ms, ?4))
		WHERE workflow_id = ?1 AND kind = ?2 AND name = ?3 AND ended_ms = 0`, h.WorkflowID, string(h.Kind), h.Name, h.UntilMS)
	if err == nil && n == 0 {
		_, err = tx.Insert(`INSERT INTO claim_hold (workflow_id, run_id, kind, name, reason, evidence, since_ms, until_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
			h.WorkflowID, h.RunID, string(h.Kind), h.Name, h.Reason, view.Text(h.Evidence), h.SinceMS, h.UntilMS)
	}
	if err != nil {
		return false, fmt.Errorf("hold the claims of workflow %d: %w", h.WorkflowID, err)
	}
	if h.UntilMS != 0 {
		tx.Delayed(h.UntilMS)
	}
	if n > 0 {
		return false, nil
	}
	if err := tx.ExecOne(`UPDATE workflow SET claim_holds = claim_holds + 1 WHERE id = ?`, h.WorkflowID); err != nil {
		return false, fmt.Errorf("hold the claims of workflow %d: %w", h.WorkflowID, err)
	}
	r.ClaimHolds++
	tx.Ready(h.WorkflowID) // the turns of runners and the scheduler continue
	return true, tx.Event(h.WorkflowID, string(workflow.EventClaimsHeld), event.SeverityWarning, hold.ClaimsHeldPayload{
		Category: event.CategoryWorkflow, RunID: h.RunID, Kind: h.Kind, Name: h.Name, Reason: h.Reason, Evidence: h.Evidence, UntilMS: h.UntilMS,
	})
}

// ClaimHoldSelection selects holds by kind and name.
type ClaimHoldSelection struct {
	Kind    hold.ClaimHoldKind // empty: all
	Name    *string            // nil: all
	Expired bool               // only those past their end
}

// ReleaseClaims ends claim holds of a workflow.
func ReleaseClaims(tx *Tx, workflowID int64, which ClaimHoldSelection, why string) error {
	ended, err := sqlite.Select(tx, view.ScanClaimHold, `UPDATE claim_hold SET ended_ms = MAX(?2, since_ms), ended_why = ?3
		WHERE workflow_id = ?1 AND ended_ms = 0 AND (?4 = '' OR kind = ?4) AND (?5 IS NULL OR name = ?5)
			AND (NOT ?6 OR until_ms BETWEEN 1 AND ?2) RETURNING `+view.ClaimHoldColumns,
		workflowID, tx.NowMS, why, string(which.Kind), which.Name, which.Expired)
	if err != nil {
		return fmt.Errorf("release the claims of workflow %d: %w", workflowID, err)
	}
	if len(ended) == 0 {
		return nil
	}
	var left int64
	err = tx.Row(`UPDATE workflow SET claim_holds = claim_holds - ?2 WHERE id = ?1 RETURNING claim_holds`, []any{workflowID, len(ended)}, &left)
	if err != nil {
		return fmt.Errorf("release the claims of workflow %d: %w", workflowID, err)
	}
	for _, h := range ended {
		err := tx.Event(workflowID, string(workflow.EventClaimsReleased), event.SeverityInfo, hold.ClaimsHeldPayload{
			Category: event.CategoryWorkflow, RunID: h.RunID, Kind: h.Kind, Name: h.Name, Reason: h.Reason, EndedWhy: why, StillOn: left,
		})
		if err != nil {
			return err
		}
	}
	tx.Ready(workflowID)
	return nil
}
