package store

import (
	"context"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/engine"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// ApplyDeadlines applies the deadlines that have passed by the clock of the database, and
// returns how many there were. A run that starts nothing more and has no live job is
// aborted.
func (s Timeouts) ApplyDeadlines(ctx context.Context) (passed int, err error) {
	due, err := sqlite.SelectContext(ctx, s.DB.Read, view.ScanID, `SELECT id FROM workflow WHERE deadline_ms IS NOT NULL AND deadline_state != 1 AND deadline_ms <= ?
		AND has_ended = 0 AND is_canceled = 0 AND is_hidden = 0 ORDER BY id`, s.DB.Now().UnixMilli())
	if err != nil {
		return 0, fmt.Errorf("find deadlines: %w", err)
	}
	for _, id := range due {
		var now bool
		err := s.shared.Do("pass a deadline", func(tx *core.Tx) (err error) {
			now, err = engine.PassDeadline(tx, id)
			return err
		})
		if err != nil && workflow.CodeOf(err) != workflow.CodeNotFound { // it was deleted meanwhile
			return passed, fmt.Errorf("pass the deadline of workflow %d: %w", id, err)
		}
		if now {
			passed++
		}
	}
	return passed, nil
}
