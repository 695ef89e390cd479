package store

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// StartJob notes that a torc client has started a job that it claimed. Starting
// it again on the same node changes nothing.
func (s *Store) StartJob(_ context.Context, id, runID, computeNodeID int64) (workflow.Job, error) {
	var j workflow.Job
	err := s.writer.do("start job", func(tx *Tx) error {
		l, r, err := tx.jobOfRun(id, runID)
		if err != nil {
			return err
		}
		if err := tx.requireIn("compute_node", "compute node", l.workflowID, computeNodeID); err != nil {
			return err
		}
		node := sql.NullInt64{Int64: computeNodeID, Valid: true}
		switch {
		case l.status == workflow.Running && l.runnerID == node:
		case l.status != workflow.Pending || l.recovering:
			return workflow.Errorf(workflow.CodeConflict, "job_id=%d has status=%s; only a claimed job (pending) can be started", id, l.status)
		case l.runnerID.Valid && l.runnerID != node:
			return workflow.Errorf(workflow.CodeConflict, "job_id=%d is held by compute node %d", id, l.runnerID.Int64)
		default:
			if err := tx.execOne(`UPDATE job SET compute_node_id = ? WHERE id = ? AND status = 3`, computeNodeID, id); err != nil {
				return fmt.Errorf("start job %d: %w", id, err)
			}
			l.runnerID = node
			if err := tx.start(r, []*lease{&l}, []int64{tx.nowMS}); err != nil {
				return err
			}
		}
		j, err = getJob(tx, id)
		return err
	})
	return j, err
}

// jobOfRun reads a job and its workflow's run, which must be the given one.
func (tx *Tx) jobOfRun(id, runID int64) (lease, *run, error) {
	l, err := getOne(tx, "job", id, `SELECT `+leaseColumns+` FROM job WHERE id = ?`, scanLease)
	if err != nil {
		return l, nil, err
	}
	r, err := tx.run(l.workflowID)
	if err != nil {
		return l, nil, err
	}
	return l, r, r.require(runID)
}
