package view

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
)

// ClaimHoldColumns are the columns that ScanClaimHold reads.
const ClaimHoldColumns = `id, workflow_id, run_id, kind, name, reason, evidence, since_ms, until_ms, ended_ms, ended_why`

// ScanClaimHold reads a row of ClaimHoldColumns.
func ScanClaimHold(r sqlite.Scanner) (h hold.ClaimHold, err error) {
	var evidence sql.NullString
	err = r.Scan(&h.ID, &h.WorkflowID, &h.RunID, &h.Kind, &h.Name, &h.Reason, &evidence, &h.SinceMS, &h.UntilMS, &h.EndedMS, &h.EndedWhy)
	if evidence.Valid {
		h.Evidence = json.RawMessage(evidence.String)
	}
	return h, err
}

// HoldBinds is a condition for holds h that have an effect: they have not ended, and the
// run has jobs to hold. End jobs and compensations are not held.
const HoldBinds = `h.ended_ms = 0 AND NOT EXISTS (SELECT 1 FROM workflow w WHERE w.id = h.workflow_id AND (w.has_ended = 1
	OR EXISTS (SELECT 1 FROM stage s WHERE s.workflow_id = w.id AND s.kind = 'end' AND s.parent_id IS NULL AND s.state = 'running')))`

// claimHolds returns the holds of a workflow that are in effect.
func (l *factReader) claimHolds(workflowID int64) (hold.ClaimHolds, error) {
	return selectFacts(l, `SELECT `+ClaimHoldColumns+` FROM claim_hold h
		WHERE workflow_id = ? AND `+HoldBinds+` AND (until_ms = 0 OR until_ms > ?) ORDER BY id`, []any{workflowID, l.nowMS}, ScanClaimHold)
}

// List returns the claim holds of a workflow by id, ended ones included.
func (s ClaimHolds) List(ctx context.Context, workflowID int64) ([]hold.ClaimHold, error) {
	if err := RequireVisible(ctx, s.DB, workflowID); err != nil {
		return nil, err
	}
	holds, err := sqlite.SelectContext(ctx, s.DB.Read, ScanClaimHold, `SELECT `+ClaimHoldColumns+` FROM claim_hold WHERE workflow_id = ? ORDER BY id`, workflowID)
	return holds, sqlite.Wrap(err, "list the claim holds of workflow %d", workflowID)
}
