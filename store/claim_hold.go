package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

const claimHoldColumns = `id, workflow_id, run_id, kind, name, reason, evidence, since_ms, until_ms, ended_ms, ended_why`

func scanClaimHold(r rowScanner) (h workflow.ClaimHold, err error) {
	var evidence sql.NullString
	err = r.Scan(&h.ID, &h.WorkflowID, &h.RunID, &h.Kind, &h.Name, &h.Reason, &evidence, &h.SinceMS, &h.UntilMS, &h.EndedMS, &h.EndedWhy)
	if evidence.Valid {
		h.Evidence = json.RawMessage(evidence.String)
	}
	return h, err
}

// holdClaims has nothing new of a run granted for a reason: from now on, until
// h.UntilMS or until it is released. If claims are held for a reason of this
// kind and name already, that one lasts as long as the longer of the two, and
// began is false.
func (tx *Tx) holdClaims(r *run, h workflow.ClaimHold) (began bool, err error) {
	h.WorkflowID, h.RunID, h.SinceMS = r.workflowID, r.runID, tx.nowMS
	n, err := tx.exec(`UPDATE claim_hold SET until_ms = iif(until_ms = 0 OR ?4 = 0, 0, MAX(until_ms, ?4))
		WHERE workflow_id = ?1 AND kind = ?2 AND name = ?3 AND ended_ms = 0`, h.WorkflowID, string(h.Kind), h.Name, h.UntilMS)
	if err == nil && n == 0 {
		_, err = tx.insert(`INSERT INTO claim_hold (workflow_id, run_id, kind, name, reason, evidence, since_ms, until_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
			h.WorkflowID, h.RunID, string(h.Kind), h.Name, h.Reason, text(h.Evidence), h.SinceMS, h.UntilMS)
	}
	if err != nil {
		return false, fmt.Errorf("hold the claims of workflow %d: %w", h.WorkflowID, err)
	}
	if h.UntilMS != 0 {
		tx.delayed(h.UntilMS)
	}
	if n > 0 {
		return false, nil
	}
	if err := tx.execOne(`UPDATE workflow SET claim_holds = claim_holds + 1 WHERE id = ?`, h.WorkflowID); err != nil {
		return false, fmt.Errorf("hold the claims of workflow %d: %w", h.WorkflowID, err)
	}
	r.claimHolds++
	tx.ready(h.WorkflowID) // who waits for work, or asks for allocations, looks again
	return true, tx.event(h.WorkflowID, string(workflow.EventClaimsHeld), workflow.SeverityWarning, workflow.ClaimsHeldPayload{
		Category: workflow.CategoryWorkflow, RunID: h.RunID, Kind: h.Kind, Name: h.Name, Reason: h.Reason, Evidence: h.Evidence, UntilMS: h.UntilMS,
	})
}

// claimHoldSelection says which holds are meant: those of a kind, and of a name.
type claimHoldSelection struct {
	kind    workflow.ClaimHoldKind // empty: all
	name    *string                // nil: all
	expired bool                   // only those whose time is over
}

var allClaimHolds claimHoldSelection

// releaseClaims ends holds of a workflow.
func (tx *Tx) releaseClaims(workflowID int64, which claimHoldSelection, why string) error {
	rows, err := tx.query(`UPDATE claim_hold SET ended_ms = MAX(?2, since_ms), ended_why = ?3
		WHERE workflow_id = ?1 AND ended_ms = 0 AND (?4 = '' OR kind = ?4) AND (?5 IS NULL OR name = ?5)
			AND (NOT ?6 OR until_ms BETWEEN 1 AND ?2) RETURNING `+claimHoldColumns,
		workflowID, tx.nowMS, why, string(which.kind), which.name, which.expired)
	if err != nil {
		return fmt.Errorf("release the claims of workflow %d: %w", workflowID, err)
	}
	ended, err := collect(rows, scanClaimHold)
	if err != nil {
		return fmt.Errorf("release the claims of workflow %d: %w", workflowID, err)
	}
	if len(ended) == 0 {
		return nil
	}
	var left int64
	err = tx.row(`UPDATE workflow SET claim_holds = claim_holds - ?2 WHERE id = ?1 RETURNING claim_holds`, []any{workflowID, len(ended)}, &left)
	if err != nil {
		return fmt.Errorf("release the claims of workflow %d: %w", workflowID, err)
	}
	for _, h := range ended {
		err := tx.event(workflowID, string(workflow.EventClaimsReleased), workflow.SeverityInfo, workflow.ClaimsHeldPayload{
			Category: workflow.CategoryWorkflow, RunID: h.RunID, Kind: h.Kind, Name: h.Name, Reason: h.Reason, EndedWhy: why, StillOn: left,
		})
		if err != nil {
			return err
		}
	}
	tx.ready(workflowID)
	return nil
}

// holdBinds is a condition for holds h: they have not ended, and something is left
// for them to hold. What comes after the jobs of a run, its end job and what
// undoes it, waits for nobody.
const holdBinds = `h.ended_ms = 0 AND NOT EXISTS (SELECT 1 FROM workflow w WHERE w.id = h.workflow_id AND (w.has_ended = 1
	OR EXISTS (SELECT 1 FROM stage s WHERE s.workflow_id = w.id AND s.kind = 'end' AND s.parent_id IS NULL AND s.state = 'running')))`

// claimsHeld returns what holds the claims of a run now. Holds whose time is over
// end.
func (tx *Tx) claimsHeld(r *run) (workflow.ClaimHolds, error) {
	if r.claimHolds == 0 {
		return nil, nil
	}
	if err := tx.releaseClaims(r.workflowID, claimHoldSelection{expired: true}, "its time is over"); err != nil {
		return nil, err
	}
	rows, err := tx.query(`SELECT `+claimHoldColumns+` FROM claim_hold h WHERE workflow_id = ? AND `+holdBinds+` ORDER BY id`, r.workflowID)
	if err != nil {
		return nil, fmt.Errorf("read the holds of claims of workflow %d: %w", r.workflowID, err)
	}
	held, err := collect(rows, scanClaimHold)
	if err != nil {
		return nil, fmt.Errorf("read the holds of claims of workflow %d: %w", r.workflowID, err)
	}
	return held, nil
}

// claimHolds are those of a workflow that hold at the moment of the look.
func (l *looker) claimHolds(workflowID int64) (workflow.ClaimHolds, error) {
	return look(l, `SELECT `+claimHoldColumns+` FROM claim_hold h
		WHERE workflow_id = ? AND `+holdBinds+` AND (until_ms = 0 OR until_ms > ?) ORDER BY id`, []any{workflowID, l.nowMS}, scanClaimHold)
}

// ClaimHolds returns the holds of claims of a workflow, also those that have
// ended, by id.
func (s *Store) ClaimHolds(ctx context.Context, workflowID int64) ([]workflow.ClaimHold, error) {
	if err := s.requireWorkflow(ctx, workflowID); err != nil {
		return nil, err
	}
	rows, err := s.read.QueryContext(ctx, `SELECT `+claimHoldColumns+` FROM claim_hold WHERE workflow_id = ? ORDER BY id`, workflowID)
	if err != nil {
		return nil, fmt.Errorf("list the holds of claims of workflow %d: %w", workflowID, err)
	}
	holds, err := collect(rows, scanClaimHold)
	if err != nil {
		return nil, fmt.Errorf("list the holds of claims of workflow %d: %w", workflowID, err)
	}
	return holds, nil
}

// ReleaseClaims lifts what holds the claims of a workflow, or only the reasons of
// a kind, and returns how many there were.
func (s *Store) ReleaseClaims(_ context.Context, workflowID int64, kind workflow.ClaimHoldKind, user string) (n int64, err error) {
	err = s.writer.do("release claims", func(tx *Tx) error {
		r, err := tx.run(workflowID)
		if err != nil {
			return err
		}
		if kind == "" || kind == workflow.HoldMaxFailures {
			if err := tx.forgiveFailures(r); err != nil {
				return err
			}
		}
		why := "lifted by " + user
		if kind == "" || kind == workflow.HoldBreaker {
			if _, err := tx.closeBreakers(why, `workflow_id = ?3 AND action = 'pause'`, workflowID); err != nil {
				return err
			}
		}
		if err := tx.releaseClaims(workflowID, claimHoldSelection{kind: kind}, why); err != nil {
			return err
		}
		now, err := tx.run(workflowID)
		if n = r.claimHolds - now.claimHolds; err != nil || n == 0 {
			return err
		}
		return tx.userAction(workflowID, user, "release_claims", map[string]any{"kind": kind, "released_count": n})
	})
	return n, err
}

// ExpireClaimHolds ends the holds of claims whose time is over, and returns when
// the next one ends, in ms; 0 if none does by itself.
func (s *Store) ExpireClaimHolds(ctx context.Context) (nextMS int64, err error) {
	const next = `SELECT COALESCE(MIN(until_ms), 0) FROM claim_hold WHERE ended_ms = 0 AND until_ms > 0`
	if err := s.read.QueryRowContext(ctx, next).Scan(&nextMS); err != nil {
		return 0, fmt.Errorf("look for holds of claims that end: %w", err)
	}
	if nextMS == 0 || nextMS > s.now().UnixMilli() {
		return nextMS, nil
	}
	err = s.writer.do("expire holds of claims", func(tx *Tx) error {
		due, err := tx.idsOf(`SELECT DISTINCT workflow_id FROM claim_hold WHERE ended_ms = 0 AND until_ms BETWEEN 1 AND ?`, tx.nowMS)
		if err != nil {
			return fmt.Errorf("find holds of claims that end: %w", err)
		}
		for _, id := range due {
			if err := tx.releaseClaims(id, claimHoldSelection{expired: true}, "its time is over"); err != nil {
				return err
			}
		}
		return tx.row(next, nil, &nextMS)
	})
	return nextMS, err
}
