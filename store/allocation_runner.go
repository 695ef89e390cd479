package store

import "context"

// IntentOfRunner returns the intent of the allocation that a runner lives in;
// empty if it lives in none.
func (s *Store) IntentOfRunner(ctx context.Context, runnerID int64) (intent string, err error) {
	err = s.read.QueryRowContext(ctx, `SELECT COALESCE(a.intent_id, '') FROM compute_node n LEFT JOIN allocation a ON a.id = n.allocation_id
		WHERE n.id = ?`, runnerID).Scan(&intent)
	return intent, orNotFound(err, "compute_node", runnerID)
}
