package engine

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// resultOfAttempt selects the result of a job's latest attempt in a run.
const resultOfAttempt = `(SELECT r.id FROM result r WHERE r.job_id = job.id AND r.run_id = ?2 AND r.attempt_id = job.attempt_id)`

// ApplyChanges changes the statuses of jobs whose attempts ended. It returns those that
// have become complete. Ended jobs are written together.
func ApplyChanges(tx *core.Tx, r *view.Run, changes []Change) ([]Completed, error) {
	type step struct{ from, to workflow.JobStatus }
	groups := map[step][]int64{}
	var order []step
	var done []Completed
	var ready []int64
	for i := range changes {
		c := &changes[i]
		if err := core.RequireTransition(c.operation(), c.From, c.To); err != nil {
			return nil, fmt.Errorf("change job %d: %w", c.Job, err)
		}
		tx.Move(r.WorkflowID, c.From, c.To, 1)
		if c.To.IsComplete() {
			done = append(done, Completed{c.Job, c.From, c.To})
		}
		if c.Next != nil {
			if err := keepOpen(tx, r, c); err != nil {
				return nil, fmt.Errorf("change job %d from %s to %s: %w", c.Job, c.From, c.To, err)
			}
			if c.To == workflow.Ready {
				ready = append(ready, c.Job)
			}
			continue
		}
		s := step{c.From, c.To}
		if groups[s] == nil {
			order = append(order, s)
		}
		groups[s] = append(groups[s], c.Job)
	}
	for _, s := range order {
		ids := groups[s]
		n, err := tx.Exec(`UPDATE job SET status = ?3, `+decided+`, `+notReady+`, result_id = `+resultOfAttempt+`
			WHERE id IN (SELECT value FROM json_each(?1)) AND status = ?4`, sqlite.IDList(ids), r.RunID, int(s.to), int(s.from))
		if err == nil && n != int64(len(ids)) {
			err = fmt.Errorf("%w: %d of %d", sqlite.ErrNoRow, n, len(ids))
		}
		if err != nil {
			return nil, fmt.Errorf("change %d jobs of workflow %d from %s to %s: %w", len(ids), r.WorkflowID, s.from, s.to, err)
		}
	}
	slices.SortFunc(done, func(a, b Completed) int { return cmp.Compare(a.ID, b.ID) })
	return done, BlockAgain(tx, r.WorkflowID, ready)
}

// operation returns the operation that changes the status.
func (c *Change) operation() workflow.Operation {
	switch {
	case c.Op != "":
		return c.Op
	case c.To == workflow.Ready:
		return workflow.OpRetry
	case c.To == workflow.Pending:
		return workflow.OpRecover
	case c.To == workflow.PendingFailed:
		return workflow.OpHold
	}
	return workflow.OpFinish
}

// keepOpen changes the status of a job that continues.
func keepOpen(tx *core.Tx, r *view.Run, c *Change) error {
	n := c.Next
	switch c.To {
	case workflow.PendingFailed:
		return tx.ExecOne(`UPDATE job SET status = {pending_failed}, phase = 0, recovery = NULL, hold = ?3, `+notReady+`, result_id = `+resultOfAttempt+`
			WHERE id = ?1 AND status = ?4`, c.Job, r.RunID, n.hold, int(c.From))
	case workflow.Pending:
		return tx.ExecOne(`UPDATE job SET status = {pending}, phase = 1, recovery = ?, start_ms = NULL, result_id = NULL,
				rule_counts = ?, counted_failures = ?, not_before_ms = ?, avoid_nodes = ? WHERE id = ? AND status = ?`,
			n.recovery, n.ruleCounts, n.counted, n.notBeforeMS, n.avoidNodes, c.Job, int(c.From))
	}
	return tx.ExecOne(`UPDATE job SET status = {ready}, `+decided+`, `+unclaimed+`, start_ms = NULL,
			result_id = NULL, origin = COALESCE(origin, 'retry'), attempt_id = ?,
			rule_counts = ?, counted_failures = ?, not_before_ms = ?, settled_ms = ?, avoid_nodes = ? WHERE id = ? AND status = ?`,
		n.Attempt, n.ruleCounts, n.counted, n.notBeforeMS, n.settledMS, n.avoidNodes, c.Job, int(c.From))
}

var recoveredStatement = core.NewTransition(workflow.OpRecovered, workflow.Pending, workflow.Ready, `UPDATE job SET status = {to}, phase = 0, recovery = NULL, `+unclaimed+`,
		origin = COALESCE(origin, 'retry'), attempt_id = attempt_id + 1, rule_counts = COALESCE(?2, rule_counts),
		not_before_ms = MAX(not_before_ms, ?3), avoid_nodes = COALESCE(?4, avoid_nodes)
	WHERE id = ?1 AND status = {from} AND phase = 1`)

// readyAfterRecovery makes a job ready whose retry was granted before its recovery script
// ran. The decision about the script's failure, n, may delay the retry further and add
// avoided nodes, but not remove any; nil: there was none.
func readyAfterRecovery(tx *core.Tx, r *view.Run, job int64, n *Next) error {
	if n == nil {
		n = &Next{}
	}
	if err := recoveredStatement.All(tx, r.WorkflowID, 1, job, n.ruleCounts, n.notBeforeMS, n.avoidNodes); err != nil {
		return fmt.Errorf("make job %d ready after its recovery: %w", job, err)
	}
	return BlockAgain(tx, r.WorkflowID, []int64{job})
}

var supersedeStatement = core.NewTransition(workflow.OpSupersede, workflow.Ready, workflow.Running, `UPDATE job SET status = {to}, attempt_id = ?2, compute_node_id = ?3,
		start_ms = NULLIF(?4, 0), claimed_ms = NULLIF(?4, 0), rule_counts = ?5, counted_failures = ?6, not_before_ms = 0, settled_ms = NULL, `+notReady+`
	WHERE id = ?1 AND status = {from} AND attempt_id = ?2 + 1 AND fence = ?7`)

// supersedeJob makes a job running again whose attempt was recorded as lost, and restores
// its retry counts.
func supersedeJob(tx *core.Tx, workflowID int64, rep *lease.Report, was *loss, ruleCounts any) error {
	return supersedeStatement.All(tx, workflowID, 1, rep.JobID, rep.Attempt, was.runnerID, rep.StartedMS, ruleCounts, was.counted, rep.Fence)
}
