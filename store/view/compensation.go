package view

import (
	"context"

	"github.com/torc-slurm/torc-slurm/store/sqlite"
)

// InCompensation is a condition for jobs of workflow ?1.
const InCompensation = `stage_id IN (SELECT id FROM stage WHERE workflow_id = ?1 AND kind = 'compensation')`

// BesideCompensation is a condition for the jobs of workflow ?1 that are in no
// compensation.
const BesideCompensation = `(stage_id IS NULL OR NOT ` + InCompensation + `)`

// Started is a condition for attempts a whose process started, or may have. Jobs that no
// runner claimed in time have no runner.
const Started = `a.cause != 'launch' AND (a.compute_node_id IS NOT NULL OR a.start_ms IS NOT NULL)`

// OpenCompensations returns the workflows whose compensation has a step due.
func (s Workflows) OpenCompensations(ctx context.Context) ([]int64, error) {
	open, err := sqlite.SelectContext(ctx, s.DB.Read, ScanID, `SELECT c.workflow_id FROM compensation c JOIN workflow w ON w.id = c.workflow_id AND w.is_hidden = 0
		WHERE c.state IN ('waiting', 'running') AND (c.state = 'waiting' OR c.deadline_ms <= ?)`, s.DB.Now().UnixMilli())
	return open, sqlite.Wrap(err, "list open compensations")
}
