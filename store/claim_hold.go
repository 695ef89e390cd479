package store

import (
	"context"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/record"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
)

var allClaimHolds core.ClaimHoldSelection

// Release releases the claim holds of a workflow, of all kinds if kind is empty, and
// returns them.
func (s ClaimHolds) Release(ctx context.Context, workflowID int64, kind hold.ClaimHoldKind, user string) (released []hold.ClaimHold, err error) {
	err = s.shared.By(ctx).Do("release claims", func(tx *core.Tx) error {
		r, err := core.LoadRun(tx, workflowID)
		if err != nil {
			return err
		}
		if kind == "" || kind == hold.HoldMaxFailures {
			if err := record.ForgiveFailures(tx, r); err != nil {
				return err
			}
		}
		released, err = sqlite.Select(tx, view.ScanClaimHold, `SELECT `+view.ClaimHoldColumns+` FROM claim_hold
			WHERE workflow_id = ? AND ended_ms = 0 AND (?2 = '' OR kind = ?2) ORDER BY id`, workflowID, string(kind))
		if err != nil {
			return fmt.Errorf("read the claim holds of workflow %d: %w", workflowID, err)
		}
		why := "released by " + user
		if kind == "" || kind == hold.HoldBreaker {
			if _, err := record.CloseBreakers(tx, why, `workflow_id = ?3 AND action = 'pause'`, workflowID); err != nil {
				return err
			}
		}
		if err := core.ReleaseClaims(tx, workflowID, core.ClaimHoldSelection{Kind: kind}, why); err != nil {
			return err
		}
		if len(released) == 0 {
			return nil
		}
		return core.UserAction(tx, workflowID, user, "release_claims", map[string]any{"kind": kind, "released_count": len(released)})
	})
	return released, err
}

// Expire releases the claim holds whose time is over. It returns when the next one ends, in
// ms; 0 if there is none.
func (s ClaimHolds) Expire(ctx context.Context) (nextMS int64, err error) {
	const next = `SELECT COALESCE(MIN(until_ms), 0) FROM claim_hold WHERE ended_ms = 0 AND until_ms > 0`
	if err := s.DB.Read.QueryRowContext(ctx, next).Scan(&nextMS); err != nil {
		return 0, fmt.Errorf("find claim holds that end: %w", err)
	}
	if nextMS == 0 || nextMS > s.DB.Now().UnixMilli() {
		return nextMS, nil
	}
	err = s.shared.Do("expire claim holds", func(tx *core.Tx) error {
		due, err := core.IDsOf(tx, `SELECT DISTINCT workflow_id FROM claim_hold WHERE ended_ms = 0 AND until_ms BETWEEN 1 AND ?`, tx.NowMS)
		if err != nil {
			return fmt.Errorf("find claim holds that end: %w", err)
		}
		for _, id := range due {
			if err := core.ReleaseClaims(tx, id, core.ClaimHoldSelection{Expired: true}, "its time is over"); err != nil {
				return err
			}
		}
		return tx.Row(next, nil, &nextMS)
	})
	return nextMS, err
}
