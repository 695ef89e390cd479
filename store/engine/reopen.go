package engine

import (
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// ReopenDependents handles jobs of a workflow that are no longer complete; the caller has
// changed their rows and job_count. Jobs behind them that have not started wait again, even
// skipped ones, and so do the jobs behind these. An ended run continues.
func ReopenDependents(tx *core.Tx, workflowID int64, ids []int64) error {
	r, err := core.LoadRun(tx, workflowID)
	if err != nil {
		return err
	}
	if _, err := blockBehindOpen(tx, workflowID, ids); err != nil {
		return err
	}
	return ReopenIfOpen(tx, r)
}

// blockBehindOpen blocks jobs behind reopened jobs. It returns those that had been
// complete: skipped, or not needed.
func blockBehindOpen(tx *core.Tx, workflowID int64, ids []int64) (all []int64, err error) {
	for len(ids) > 0 {
		gates, err := raiseGates(tx, ids)
		if err != nil || len(gates) == 0 {
			return all, err
		}
		if ids, err = blockJobs(tx, workflowID, sqlite.IDList(gates)); err != nil {
			return all, fmt.Errorf("reopen jobs of workflow %d: %w", workflowID, err)
		}
		all = append(all, ids...)
	}
	return all, nil
}

// raiseGates recounts the gates of dependencies that are no longer complete. It returns the
// gates that are closed.
func raiseGates(tx *core.Tx, jobs []int64) ([]int64, error) {
	gates, err := core.IDsOf(tx, `UPDATE gate SET (open, failed) = (
			SELECT TOTAL(j.status NOT BETWEEN {completed} AND {disabled}), TOTAL(j.status BETWEEN {failed} AND {terminated})
			FROM gate_dependency d JOIN job j ON j.id = d.job_id WHERE d.gate_id = gate.id)
		WHERE id IN (SELECT d.gate_id FROM json_each(?) e CROSS JOIN gate_dependency d ON d.job_id = e.value)
		RETURNING iif(open > 0, id, 0)`, sqlite.IDList(jobs))
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

// BlockAgain blocks those of the given jobs that are ready again but depend on a job that
// was reopened while they were held.
func BlockAgain(tx *core.Tx, workflowID int64, jobs []int64) error {
	if len(jobs) == 0 {
		return nil
	}
	err := blockJobsAgain(tx, workflowID, jobs)
	return sqlite.Wrap(err, "let jobs of workflow %d wait again", workflowID)
}

// SettleJob makes a job that has not started wait for its open dependencies, or continue if
// it has none.
func SettleJob(tx *core.Tx, r *view.Run, job int64) error {
	var status workflow.JobStatus
	var gate, open int64
	err := tx.Row(`SELECT j.status, COALESCE(g.id, 0), COALESCE(g.open, 0) FROM job j LEFT JOIN gate g ON g.id = j.gate_id WHERE j.id = ?`,
		[]any{job}, &status, &gate, &open)
	if err != nil {
		return fmt.Errorf("settle job %d: %w", job, err)
	}
	switch {
	case status == workflow.Ready:
		err = BlockAgain(tx, r.WorkflowID, []int64{job})
	case r.Halted:
	case status == workflow.Blocked && gate == 0: // its stage is checked below
		err = releaseJob(tx, r.WorkflowID, job)
	case status == workflow.Blocked && open == 0:
		var c *Cascade
		if c, err = newCascade(tx, r); err == nil {
			err = c.follow(nil, nil, []int64{gate})
		}
		if err == nil && !r.Stages {
			err = EndIfOver(tx, r.WorkflowID)
		}
	}
	if err == nil && r.Stages {
		err = SettleStageOf(tx, r, job)
	}
	return sqlite.Wrap(err, "settle job %d", job)
}
