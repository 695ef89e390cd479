package store

import (
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// reopened takes in that jobs of a workflow that were complete are not any more;
// their rows and their numbers per status have been changed already. Jobs
// behind them that have not begun wait again, also those that had been skipped,
// and what was behind these, to a fixed point. A run that had ended goes on.
func (tx *Tx) reopened(workflowID int64, ids []int64) error {
	r, err := tx.run(workflowID)
	if err != nil {
		return err
	}
	if _, err := tx.blockBehindOpen(workflowID, ids); err != nil {
		return err
	}
	return tx.reopenIfOpen(r)
}

// blockBehindOpen lets jobs wait again that are behind jobs that are open again,
// and returns those that had been complete: they had been skipped, or not been
// needed.
func (tx *Tx) blockBehindOpen(workflowID int64, ids []int64) (all []int64, err error) {
	for len(ids) > 0 {
		gates, err := tx.raise(ids)
		if err != nil || len(gates) == 0 {
			return all, err
		}
		if ids, err = tx.blockAgain(workflowID, idList(gates)); err != nil {
			return all, fmt.Errorf("reopen jobs of workflow %d: %w", workflowID, err)
		}
		all = append(all, ids...)
	}
	return all, nil
}

// raise counts the gates of dependencies anew that are not complete any more,
// and returns those gates that are closed.
func (tx *Tx) raise(jobs []int64) ([]int64, error) {
	gates, err := tx.idsOf(`UPDATE gate SET (open, failed) = (
			SELECT TOTAL(j.status NOT BETWEEN 5 AND 9), TOTAL(j.status BETWEEN 6 AND 8)
			FROM gate_dependency d JOIN job j ON j.id = d.job_id WHERE d.gate_id = gate.id)
		WHERE id IN (SELECT d.gate_id FROM json_each(?) e CROSS JOIN gate_dependency d ON d.job_id = e.value)
		RETURNING iif(open > 0, id, 0)`, idList(jobs))
	if err != nil {
		return nil, fmt.Errorf("raise the gates behind %d jobs: %w", len(jobs), err)
	}
	closed := gates[:0]
	for _, id := range gates {
		if id != 0 {
			closed = append(closed, id)
		}
	}
	return closed, nil
}

// blockAgain makes jobs behind closed gates wait, and returns those that were
// complete: they had been skipped, or not been needed.
func (tx *Tx) blockAgain(workflowID int64, gates string) ([]int64, error) {
	n, err := tx.exec(`UPDATE job SET status = 1, `+notReady+` WHERE gate_id IN (SELECT value FROM json_each(?)) AND status = 2`, gates)
	if err != nil {
		return nil, err
	}
	tx.move(workflowID, workflow.Ready, workflow.Blocked, n)
	var all []int64
	for _, from := range []workflow.JobStatus{workflow.Canceled, workflow.Disabled} {
		skipped, err := tx.idsOf(`UPDATE job SET status = 1, skipped_by = iif(status = 9 AND undoes_id IS NOT NULL, 0, NULL)
			WHERE gate_id IN (SELECT value FROM json_each(?)) AND status = ? AND skipped_by IS NOT NULL RETURNING id`, gates, int64(from))
		if err != nil {
			return nil, err
		}
		tx.move(workflowID, from, workflow.Blocked, int64(len(skipped)))
		all = append(all, skipped...)
	}
	return all, nil
}

// waitAgain blocks those of the given jobs that are ready again and depend on a
// job that was opened again while they were held.
func (tx *Tx) waitAgain(workflowID int64, jobs []int64) error {
	if len(jobs) == 0 {
		return nil
	}
	n, err := tx.exec(`UPDATE job SET status = 1, `+notReady+` WHERE id IN (SELECT value FROM json_each(?)) AND status = 2
		AND gate_id IS NOT NULL AND (SELECT open FROM gate WHERE id = job.gate_id) > 0`, idList(jobs))
	if err != nil {
		return fmt.Errorf("let jobs of workflow %d wait again: %w", workflowID, err)
	}
	tx.move(workflowID, workflow.Ready, workflow.Blocked, n)
	return nil
}

// settleJob brings a job that has not begun in line with its dependencies: it
// waits while one is open, and goes on when none is.
func (tx *Tx) settleJob(r *run, job int64) error {
	var status workflow.JobStatus
	var gate, open int64
	err := tx.row(`SELECT j.status, COALESCE(g.id, 0), COALESCE(g.open, 0) FROM job j LEFT JOIN gate g ON g.id = j.gate_id WHERE j.id = ?`,
		[]any{job}, &status, &gate, &open)
	if err != nil {
		return fmt.Errorf("settle job %d: %w", job, err)
	}
	switch {
	case status == workflow.Ready:
		err = tx.waitAgain(r.workflowID, []int64{job})
	case r.halted:
	case status == workflow.Blocked && gate == 0: // its stage is looked at below
		err = tx.execOne(`UPDATE job SET status = 2 WHERE id = ? AND status = 1`, job)
		tx.move(r.workflowID, workflow.Blocked, workflow.Ready, 1)
	case status == workflow.Blocked && open == 0:
		var c *cascade
		if c, err = tx.newCascade(r); err == nil {
			err = c.follow(nil, nil, []int64{gate})
		}
		if err == nil && !r.stages {
			err = tx.endIfOver(r.workflowID)
		}
	}
	if err == nil && r.stages {
		err = tx.settleStageOf(r, job)
	}
	if err != nil {
		return fmt.Errorf("settle job %d: %w", job, err)
	}
	return nil
}
