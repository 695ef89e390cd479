package store

import (
	"context"
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// BreakerFilter says which trips of circuit breakers are wanted; zero fields do
// not matter.
type BreakerFilter struct {
	ID         int64
	WorkflowID int64 // of this one; those for the nodes of all workflows are among them in lists
	Node       string
	Ended      bool // also those that have closed
}

// BreakerTrips returns trips of circuit breakers, by id.
func (s *Store) BreakerTrips(ctx context.Context, q BreakerFilter) ([]workflow.BreakerTrip, error) {
	if q.WorkflowID != 0 {
		if err := s.requireWorkflow(ctx, q.WorkflowID); err != nil {
			return nil, err
		}
	}
	rows, err := s.read.QueryContext(ctx, `SELECT `+tripColumns+` FROM breaker_trip
		WHERE (?1 = 0 OR workflow_id IS NULL OR workflow_id = ?1) AND (?2 = '' OR subject = ?2) AND (?3 OR ended_ms = 0 AND until_ms > ?4) ORDER BY id`,
		q.WorkflowID, q.Node, q.Ended, s.now().UnixMilli())
	if err != nil {
		return nil, fmt.Errorf("list circuit breakers: %w", err)
	}
	trips, err := collect(rows, scanTrip)
	if err != nil {
		return nil, fmt.Errorf("list circuit breakers: %w", err)
	}
	return trips, nil
}

// ResetBreakers closes open circuit breakers, and returns them. What they had
// counted is not counted again.
func (s *Store) ResetBreakers(_ context.Context, q BreakerFilter, user string) (closed []workflow.BreakerTrip, err error) {
	err = s.writer.do("reset circuit breakers", func(tx *Tx) error {
		if q.WorkflowID != 0 {
			if _, err := tx.run(q.WorkflowID); err != nil {
				return err
			}
		}
		var err error
		closed, err = tx.closeBreakers("closed by "+user, `(?3 = 0 OR id = ?3) AND (?4 = 0 OR workflow_id = ?4) AND (?5 = '' OR subject = ?5)`,
			q.ID, q.WorkflowID, q.Node)
		if err == nil && len(closed) == 0 && q.ID != 0 {
			return workflow.Errorf(workflow.CodeNotFound, "there is no open circuit breaker with the id %d", q.ID).WithHint("breakers list shows those that are open")
		}
		return err
	})
	return closed, err
}

// closeBreakers closes the open breakers that meet a condition, whose arguments
// begin with ?3, and ends what holds claims because of them.
func (tx *Tx) closeBreakers(why, condition string, args ...any) ([]workflow.BreakerTrip, error) {
	rows, err := tx.query(`UPDATE breaker_trip SET ended_ms = MAX(?1, since_ms), ended_why = ?2 WHERE ended_ms = 0 AND until_ms > ?1 AND `+condition+`
		RETURNING `+tripColumns, append([]any{tx.nowMS, why}, args...)...)
	if err != nil {
		return nil, fmt.Errorf("close circuit breakers: %w", err)
	}
	closed, err := collect(rows, scanTrip)
	if err != nil {
		return nil, fmt.Errorf("close circuit breakers: %w", err)
	}
	tx.w.breakers = nil
	for i := range closed {
		t := &closed[i]
		if t.WorkflowID == 0 {
			if err := tx.policiesChanged(); err != nil { // wakes all runners
				return nil, err
			}
			continue
		}
		if err := tx.breakerEvent(t.WorkflowID, workflow.EventBreakerClosed, *t); err != nil {
			return nil, err
		}
		tx.ready(t.WorkflowID)
		if t.Action == workflow.BreakerPause {
			name := holdOfTrip(t)
			if err := tx.releaseClaims(t.WorkflowID, claimHoldSelection{kind: workflow.HoldBreaker, name: &name}, why); err != nil {
				return nil, err
			}
		}
	}
	return closed, nil
}

// excludedNodes are the nodes from which open breakers keep a workflow.
func (l *looker) excludedNodes(workflowID int64) ([]string, error) {
	return look(l, `SELECT DISTINCT t.subject FROM breaker_trip t LEFT JOIN workflow w ON w.id = t.workflow_id
		WHERE t.ended_ms = 0 AND t.until_ms > ?2 AND t.action = 'exclude_node' AND (t.workflow_id IS NULL OR t.workflow_id = ?1 AND t.run_id = w.run_id)
		ORDER BY 1`, []any{workflowID, l.nowMS}, scanString)
}

// trips are the open breakers that a workflow is subject to.
func (l *looker) trips(workflowID int64) ([]workflow.BreakerTrip, error) {
	return look(l, `SELECT `+tripColumns+` FROM breaker_trip WHERE (workflow_id IS NULL OR workflow_id = ?1) AND ended_ms = 0 AND until_ms > ?2 ORDER BY id`,
		[]any{workflowID, l.nowMS}, scanTrip)
}
