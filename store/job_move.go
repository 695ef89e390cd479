package store

import (
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// asNew are the columns of a job that has not begun: no lease, no delay, no
// recovery, no hold, and its retries uncounted.
const asNew = `compute_node_id = NULL, claimed_ms = NULL, start_ms = NULL, not_before_ms = 0, settled_ms = NULL, phase = 0, recovery = NULL, hold = NULL,
	skipped_by = NULL, ended_by = NULL, rule_counts = NULL, counted_failures = 0, avoid_nodes = NULL, ready_ms = NULL, first_ready_ms = NULL, told = 0`

// moveJobs changes the status of all jobs of a workflow that meet a condition,
// makes the given columns new, and returns how many there were. The gates are
// the caller's. In the condition ?1 is the workflow and ?3 the first of args.
func (tx *Tx) moveJobs(workflowID int64, to workflow.JobStatus, columns, condition string, args ...any) (int64, error) {
	args = append([]any{workflowID, int64(to)}, args...)
	// ?2 is there because both statements get the same arguments.
	rows, err := tx.query(`SELECT status, COUNT(*) FROM job WHERE workflow_id = ?1 AND ?2 IS NOT NULL AND (`+condition+`) GROUP BY status`, args...)
	if err != nil {
		return 0, fmt.Errorf("count jobs of workflow %d: %w", workflowID, err)
	}
	type group struct {
		status workflow.JobStatus
		n      int64
	}
	groups, err := collect(rows, func(r rowScanner) (g group, err error) { return g, r.Scan(&g.status, &g.n) })
	if err != nil {
		return 0, fmt.Errorf("count jobs of workflow %d: %w", workflowID, err)
	}
	var total int64
	for _, g := range groups {
		tx.move(workflowID, g.status, to, g.n)
		total += g.n
	}
	if total == 0 {
		return 0, nil
	}
	n, err := tx.exec(`UPDATE job SET status = ?2, `+columns+` WHERE workflow_id = ?1 AND (`+condition+`)`, args...)
	if err == nil && n != total {
		err = fmt.Errorf("%w: %d of %d", errNoRow, n, total)
	}
	if err != nil {
		return 0, fmt.Errorf("make jobs of workflow %d %s: %w", workflowID, to, err)
	}
	return n, nil
}
