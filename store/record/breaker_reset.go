package record

import (
	"context"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/engine"
	"github.com/torc-slurm/torc-slurm/store/row"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
)

// Reset closes open circuit breakers and returns them. The failures that they counted do
// not count again.
func (s Breakers) Reset(ctx context.Context, q view.BreakerFilter, user string) (closed []workflow.BreakerTrip, err error) {
	err = s.shared.By(ctx).Do("reset circuit breakers", func(tx *core.Tx) error {
		if q.WorkflowID != 0 {
			if _, err := core.LoadRun(tx, q.WorkflowID); err != nil {
				return err
			}
		}
		var err error
		closed, err = CloseBreakers(tx, "closed by "+user, `(?3 = 0 OR id = ?3) AND (?4 = 0 OR workflow_id = ?4) AND (?5 = '' OR subject = ?5)`,
			q.ID, q.WorkflowID, q.Node)
		if err == nil && len(closed) == 0 && q.ID != 0 {
			return workflow.Errorf(workflow.CodeNotFound, "no open circuit breaker has the id %d", q.ID).WithHint("breakers list shows those that are open")
		}
		return err
	})
	return closed, err
}

// CloseBreakers closes the open breakers that meet a condition, whose arguments begin with
// ?3, and releases their claim holds.
func CloseBreakers(tx *core.Tx, why, condition string, args ...any) ([]workflow.BreakerTrip, error) {
	closed, err := sqlite.Select(tx, row.ScanTrip, `UPDATE breaker_trip SET ended_ms = MAX(?1, since_ms), ended_why = ?2 WHERE ended_ms = 0 AND until_ms > ?1 AND `+condition+`
		RETURNING `+row.TripColumns, append([]any{tx.NowMS, why}, args...)...)
	if err != nil {
		return nil, fmt.Errorf("close circuit breakers: %w", err)
	}
	tx.Shared.Breakers = nil
	for i := range closed {
		t := &closed[i]
		if t.WorkflowID == 0 {
			if err := policiesChanged(tx); err != nil { // wakes all runners
				return nil, err
			}
			continue
		}
		if err := engine.BreakerEvent(tx, t.WorkflowID, workflow.EventBreakerClosed, *t); err != nil {
			return nil, err
		}
		tx.Ready(t.WorkflowID)
		if t.Action == workflow.BreakerPause {
			name := engine.HoldOfTrip(t)
			if err := core.ReleaseClaims(tx, t.WorkflowID, core.ClaimHoldSelection{Kind: hold.HoldBreaker, Name: &name}, why); err != nil {
				return nil, err
			}
		}
	}
	return closed, nil
}
