package view

import (
	"context"

	"github.com/torc-slurm/torc-slurm/store/row"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// BreakerFilter selects trips of circuit breakers. Zero fields match all.
type BreakerFilter struct {
	ID         int64
	WorkflowID int64 // a list of trips also has those for nodes of all workflows
	Node       string
	Ended      bool // also those that have closed
}

// Trips returns trips of circuit breakers, by id.
func (s Breakers) Trips(ctx context.Context, q BreakerFilter) ([]workflow.BreakerTrip, error) {
	if q.WorkflowID != 0 {
		if err := RequireVisible(ctx, s.DB, q.WorkflowID); err != nil {
			return nil, err
		}
	}
	trips, err := sqlite.SelectContext(ctx, s.DB.Read, row.ScanTrip, `SELECT `+row.TripColumns+` FROM breaker_trip
		WHERE (?1 = 0 OR workflow_id IS NULL OR workflow_id = ?1) AND (?2 = '' OR subject = ?2) AND (?3 OR ended_ms = 0 AND until_ms > ?4) ORDER BY id`,
		q.WorkflowID, q.Node, q.Ended, s.DB.Now().UnixMilli())
	return trips, sqlite.Wrap(err, "list circuit breakers")
}

// excludedNodes returns the nodes that open breakers exclude for a workflow.
func (l *factReader) excludedNodes(workflowID int64) ([]string, error) {
	return selectFacts(l, `SELECT DISTINCT t.subject FROM breaker_trip t LEFT JOIN workflow w ON w.id = t.workflow_id
		WHERE t.ended_ms = 0 AND t.until_ms > ?2 AND t.action = 'exclude_node' AND (t.workflow_id IS NULL OR t.workflow_id = ?1 AND t.run_id = w.run_id)
		ORDER BY 1`, []any{workflowID, l.nowMS}, sqlite.ScanString)
}

// trips returns the open breakers that affect a workflow.
func (l *factReader) trips(workflowID int64) ([]workflow.BreakerTrip, error) {
	return selectFacts(l, `SELECT `+row.TripColumns+` FROM breaker_trip WHERE (workflow_id IS NULL OR workflow_id = ?1) AND ended_ms = 0 AND until_ms > ?2 ORDER BY id`,
		[]any{workflowID, l.nowMS}, row.ScanTrip)
}
