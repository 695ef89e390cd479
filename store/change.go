package store

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// resultOfAttempt is the id of the result of a job's latest attempt in a run.
const resultOfAttempt = `(SELECT r.id FROM result r WHERE r.job_id = job.id AND r.run_id = ?2 AND r.attempt_id = job.attempt_id)`

// applyChanges changes the statuses of jobs whose attempts ended, and returns
// those that have become complete. Jobs that have ended are written together.
func (tx *Tx) applyChanges(r *run, changes []change) ([]completion, error) {
	type step struct{ from, to workflow.JobStatus }
	groups := map[step][]int64{}
	var order []step
	var done []completion
	var ready []int64
	for i := range changes {
		c := &changes[i]
		tx.move(r.workflowID, c.from, c.to, 1)
		if c.to.IsComplete() {
			done = append(done, completion{c.job, c.from, c.to})
		}
		if c.next != nil {
			if err := tx.goOn(r, c); err != nil {
				return nil, fmt.Errorf("change job %d from %s to %s: %w", c.job, c.from, c.to, err)
			}
			if c.to == workflow.Ready {
				ready = append(ready, c.job)
			}
			continue
		}
		s := step{c.from, c.to}
		if groups[s] == nil {
			order = append(order, s)
		}
		groups[s] = append(groups[s], c.job)
	}
	for _, s := range order {
		ids := groups[s]
		n, err := tx.exec(`UPDATE job SET status = ?3, phase = 0, recovery = NULL, hold = NULL, `+notReady+`, result_id = `+resultOfAttempt+`
			WHERE id IN (SELECT value FROM json_each(?1)) AND status = ?4`, idList(ids), r.runID, int(s.to), int(s.from))
		if err == nil && n != int64(len(ids)) {
			err = fmt.Errorf("%w: %d of %d", errNoRow, n, len(ids))
		}
		if err != nil {
			return nil, fmt.Errorf("change %d jobs of workflow %d from %s to %s: %w", len(ids), r.workflowID, s.from, s.to, err)
		}
	}
	slices.SortFunc(done, func(a, b completion) int { return cmp.Compare(a.id, b.id) })
	return done, tx.waitAgain(r.workflowID, ready)
}

// goOn changes the status of a job that has not ended.
func (tx *Tx) goOn(r *run, c *change) error {
	n := c.next
	switch c.to {
	case workflow.PendingFailed:
		return tx.execOne(`UPDATE job SET status = 10, phase = 0, recovery = NULL, hold = ?3, `+notReady+`, result_id = `+resultOfAttempt+`
			WHERE id = ?1 AND status = ?4`, c.job, r.runID, n.hold, int(c.from))
	case workflow.Pending:
		return tx.execOne(`UPDATE job SET status = 3, phase = 1, recovery = ?, start_ms = NULL, result_id = NULL,
				rule_counts = ?, counted_failures = ?, not_before_ms = ?, avoid_nodes = ? WHERE id = ? AND status = ?`,
			n.recovery, n.ruleCounts, n.counted, n.notBeforeMS, n.avoidNodes, c.job, int(c.from))
	}
	return tx.execOne(`UPDATE job SET status = 2, phase = 0, recovery = NULL, hold = NULL, start_ms = NULL, compute_node_id = NULL, claimed_ms = NULL,
			result_id = NULL, origin = COALESCE(origin, 'retry'), attempt_id = ?,
			rule_counts = ?, counted_failures = ?, not_before_ms = ?, settled_ms = ?, avoid_nodes = ? WHERE id = ? AND status = ?`,
		n.attempt, n.ruleCounts, n.counted, n.notBeforeMS, n.settledMS, n.avoidNodes, c.job, int(c.from))
}

// after is the time, in ms, at which a delay is over, and not before; 0 is at once.
func (tx *Tx) after(delay time.Duration) int64 {
	if delay <= 0 {
		return 0
	}
	return tx.nowMS + (delay + time.Millisecond - 1).Milliseconds()
}

// delayed notes that a job becomes claimable at a time.
func (tx *Tx) delayed(atMS int64) {
	if c := &tx.changes; c.NotBefore == 0 || atMS < c.NotBefore {
		c.NotBefore = atMS
	}
}
