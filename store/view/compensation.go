package view

import (
	"context"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/sqlite"
)

// InCompensation is a condition for jobs of workflow ?1.
const InCompensation = `stage_id IN (SELECT id FROM stage WHERE workflow_id = ?1 AND kind = 'compensation')`

// BesideCompensation is a condition for the other jobs of workflow ?1.
const BesideCompensation = `(stage_id IS NULL OR NOT ` + InCompensation + `)`

// Started is a condition for attempts a: their processes began, or may have. Those
// of jobs that nobody claimed in time have no runner.
const Started = `a.cause != 'launch' AND (a.compute_node_id IS NOT NULL OR a.start_ms IS NOT NULL)`

// OpenCompensations are the workflows with something to do now.
func (s Workflows) OpenCompensations(ctx context.Context) ([]int64, error) {
	rows, err := s.DB.Read.QueryContext(ctx, `SELECT c.workflow_id FROM compensation c JOIN workflow w ON w.id = c.workflow_id AND w.is_hidden = 0
		WHERE c.state IN ('waiting', 'running') AND (c.state = 'waiting' OR c.deadline_ms <= ?)`, s.DB.Now().UnixMilli())
	if err != nil {
		return nil, fmt.Errorf("look for compensations: %w", err)
	}
	open, err := sqlite.Collect(rows, ScanID)
	if err != nil {
		return nil, fmt.Errorf("look for compensations: %w", err)
	}
	return open, nil
}
