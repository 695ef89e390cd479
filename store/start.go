package store

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/engine"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// Start records that a torc client has started a claimed job. Repeating it on the same node
// changes nothing.
func (s Jobs) Start(_ context.Context, id, runID, computeNodeID int64) (workflow.Job, error) {
	var j workflow.Job
	err := s.shared.Do("start job", func(tx *core.Tx) error {
		l, r, err := jobOfRun(tx, id, runID)
		if err != nil {
			return err
		}
		if err := core.RequireIn(tx, "compute_node", "compute node", l.WorkflowID, computeNodeID); err != nil {
			return err
		}
		node := sql.NullInt64{Int64: computeNodeID, Valid: true}
		switch {
		case l.Status == workflow.Running && l.RunnerID == node:
		case l.Status != workflow.Pending || l.Recovering:
			return workflow.Errorf(workflow.CodeConflict, "job_id=%d has status=%s; only a claimed job (pending) can be started", id, l.Status)
		case l.RunnerID.Valid && l.RunnerID != node:
			return workflow.Errorf(workflow.CodeConflict, "job_id=%d is held by compute node %d", id, l.RunnerID.Int64)
		default:
			if err := tx.ExecOne(`UPDATE job SET compute_node_id = ? WHERE id = ? AND status = {pending}`, computeNodeID, id); err != nil {
				return fmt.Errorf("start job %d: %w", id, err)
			}
			l.RunnerID = node
			if err := engine.StartLeases(tx, r, []*core.LeasedJob{&l}, []int64{tx.NowMS}); err != nil {
				return err
			}
		}
		j, err = engine.GetJob(tx, id)
		return err
	})
	return j, err
}

// jobOfRun reads a job and its workflow's run; CodeConflict if the run is not runID.
func jobOfRun(tx *core.Tx, id, runID int64) (core.LeasedJob, *view.Run, error) {
	l, err := core.GetOne(tx, "job", id, `SELECT `+core.LeaseColumns+` FROM job WHERE id = ?`, core.ScanLease)
	if err != nil {
		return l, nil, err
	}
	r, err := core.LoadRun(tx, l.WorkflowID)
	if err != nil {
		return l, nil, err
	}
	return l, r, r.Require(runID)
}
