package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// ManageStatusChange is an operator's word: it changes a job's status to one
// that is not complete. Whoever holds the job loses it. A job that was complete
// and becomes uninitialized takes along what directly depends on it and has
// run.
func (s *Store) ManageStatusChange(_ context.Context, id int64, to workflow.JobStatus, runID int64) (workflow.Job, error) {
	if to.IsComplete() {
		return workflow.Job{}, workflow.Errorf(workflow.CodeInvalid, "Cannot change the status of job_id=%d to %s. Use complete_job", id, to)
	}
	var j workflow.Job
	err := s.writer.do("manage status change", func(tx *Tx) error {
		l, err := getOne(tx, "job", id, `SELECT `+leaseColumns+` FROM job WHERE id = ?`, scanLease)
		if err != nil {
			return err
		}
		if l.status != to {
			if err := tx.manage(&l, to, runID); err != nil {
				return err
			}
		}
		j, err = getJob(tx, id)
		return err
	})
	return j, err
}

func (tx *Tx) manage(l *lease, to workflow.JobStatus, runID int64) error {
	r, err := tx.run(l.workflowID)
	if err != nil {
		return err
	}
	if err := r.require(runID); err != nil {
		return err
	}
	if !workflow.CanTransition(l.status, to, workflow.OpManage) {
		return workflow.Errorf(workflow.CodeConflict, "job_id=%d has status=%s and cannot become %s", l.JobID, l.status, to)
	}
	if l.isStage && (to.IsLive() || to == workflow.PendingFailed) {
		return workflow.Errorf(workflow.CodeConflict, "job_id=%d is a sub-workflow and cannot become %s", l.JobID, to).
			WithHint("make it ready: it runs when its jobs may begin")
	}
	if err := tx.refuseResting(r, l.JobID); err != nil {
		return err
	}
	if err := tx.refuseBeforeStage(r, l.JobID, to); err != nil {
		return err
	}
	if r.canceled && to.IsLive() {
		return workflow.Errorf(workflow.CodeConflict, "job_id=%d cannot become %s: workflow %d is canceled", l.JobID, to, r.workflowID)
	}
	if l.status == workflow.Running {
		if err := tx.cutOffByOperator(l, r); err != nil {
			return err
		}
	} else if l.runnerID.Valid {
		tx.changes.Runners = appendNew(tx.changes.Runners, []int64{l.runnerID.Int64})
	}
	if err := tx.manageTo(l, to); err != nil {
		return err
	}
	tx.move(r.workflowID, l.status, to, 1)
	if err := tx.trigger(l.status, to, []int64{l.JobID}); err != nil {
		return err
	}
	if !l.status.IsComplete() {
		return tx.settleJob(r, l.JobID)
	}
	open := []int64{l.JobID}
	if to == workflow.Uninitialized {
		behind, err := tx.resetBehind(r, l.JobID)
		if err != nil {
			return err
		}
		open = append(open, behind...)
	}
	if err := tx.reopened(r.workflowID, open); err != nil {
		return err
	}
	return tx.settleJob(r, l.JobID)
}

// cutOffByOperator records the running attempt that the operator's word ends.
func (tx *Tx) cutOffByOperator(l *lease, r *run) error {
	d := workflow.Decision{Action: workflow.ActionNone, Reason: "an operator changed the job's status"}
	return newFinisher(tx, r).cutOff(l, workflow.ClassifyCanceled(d.Reason, workflow.Evidence{}), d)
}

// manageTo changes the row of a job.
func (tx *Tx) manageTo(l *lease, to workflow.JobStatus) error {
	var hold, claimedMS, startMS any
	switch to {
	case workflow.PendingFailed:
		text, err := json.Marshal(workflow.Hold{Reason: "an operator changed the job's status", SinceMS: tx.nowMS})
		if err != nil {
			return fmt.Errorf("hold job %d: %w", l.JobID, err)
		}
		hold = string(text)
	case workflow.Pending:
		claimedMS = tx.nowMS
	case workflow.Running:
		claimedMS, startMS = tx.nowMS, tx.nowMS
	}
	err := tx.execOne(`UPDATE job SET status = ?1, fence = fence + 1, compute_node_id = NULL, claimed_ms = ?2, start_ms = ?3, not_before_ms = 0,
			phase = 0, recovery = NULL, hold = ?4, skipped_by = NULL, ended_by = NULL, result_id = NULL,
			ready_ms = NULL, first_ready_ms = iif(policy_id IS NULL, NULL, ?2), told = 0,
			attempt_id = 1 + COALESCE((SELECT MAX(a.attempt_id) FROM attempt a JOIN workflow w ON w.id = a.workflow_id AND w.run_id = a.run_id
				WHERE a.job_id = job.id), 0)
		WHERE id = ?5 AND status = ?6`, int(to), claimedMS, startMS, hold, l.JobID, int(l.status))
	if err != nil {
		return fmt.Errorf("change job %d from %s to %s: %w", l.JobID, l.status, to, err)
	}
	return nil
}

// resetBehind makes the completed and failed jobs uninitialized that directly
// depend on a job, and returns them.
func (tx *Tx) resetBehind(r *run, job int64) ([]int64, error) {
	var all []int64
	for _, from := range []workflow.JobStatus{workflow.Completed, workflow.Failed} {
		ids, err := tx.idsOf(`UPDATE job SET status = 0, compute_node_id = NULL, claimed_ms = NULL, start_ms = NULL, result_id = NULL
			WHERE status = ? AND gate_id IN (SELECT gate_id FROM gate_dependency WHERE job_id = ?) RETURNING id`, int(from), job)
		if err != nil {
			return nil, fmt.Errorf("reset what depends on job %d: %w", job, err)
		}
		tx.move(r.workflowID, from, workflow.Uninitialized, int64(len(ids)))
		all = append(all, ids...)
	}
	return all, nil
}
