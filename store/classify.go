package store

import (
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// classify ends the hold of a job: it is ready for another attempt, or has
// failed. How often a job can be retried so is limited. The author and the
// reason are for the log.
func (tx *Tx) classify(id int64, to workflow.JobStatus, author, reason string) error {
	l, err := getOne(tx, "job", id, `SELECT `+leaseColumns+` FROM job WHERE id = ?`, scanLease)
	if err != nil {
		return err
	}
	r, err := tx.run(l.workflowID)
	if err != nil {
		return err
	}
	if !workflow.CanTransition(l.status, to, workflow.OpClassify) {
		return workflow.Errorf(workflow.CodeConflict, "job_id=%d has status=%s and cannot be classified as %s", id, l.status, to)
	}
	f := newFinisher(tx, r)
	c := change{job: id, from: l.status, to: to}
	cause, err := tx.lastCause(&l, r)
	if err != nil {
		return err
	}
	if to == workflow.Ready {
		h := workflow.History{AttemptID: l.Attempt}
		if _, err := f.policies(id, l.runnerID, &h); err != nil {
			return err
		}
		d, err := workflow.DecideClassified(h)
		if err != nil {
			return err
		}
		if c.next, err = f.retry(&l, &ending{cause: cause}, &d, h); err != nil {
			return err
		}
	}
	err = tx.event(r.workflowID, string(workflow.EventJobClassified), workflow.SeverityInfo, workflow.JobClassifiedPayload{
		JobID: id, JobName: l.name, RunID: r.runID, Status: to, Author: author, Reason: reason,
	})
	if err != nil {
		return err
	}
	if l.status = to; to.IsComplete() {
		if err := f.announceStatus(&l, cause, reason); err != nil {
			return err
		}
	}
	done, err := tx.applyChanges(r, []change{c})
	if err != nil {
		return err
	}
	return tx.completed(r.workflowID, done)
}

// classifyByUpdate takes an update of a held job's status for a classification;
// then nothing of it is left to update.
func (tx *Tx) classifyByUpdate(id int64, u *workflow.JobUpdate) error {
	if u.Status == nil {
		return nil
	}
	var status workflow.JobStatus
	if err := tx.row(`SELECT status FROM job WHERE id = ?`, []any{id}, &status); err != nil {
		return orNotFound(err, "job", id)
	}
	if !workflow.CanTransition(status, *u.Status, workflow.OpClassify) {
		return nil
	}
	to := *u.Status
	u.Status = nil
	return tx.classify(id, to, u.Author, "the job's status was updated")
}

// lastCause is why the latest attempt of a job ended; without a kind if none is
// recorded.
func (tx *Tx) lastCause(l *lease, r *run) (c workflow.Cause, err error) {
	err = tx.row(`SELECT COALESCE(MAX(cause), ''), COALESCE(MAX(return_code), 0), COALESCE(MAX(cause_text), '') FROM attempt
		WHERE job_id = ? AND run_id = ? AND attempt_id = ?`, []any{l.JobID, r.runID, l.Attempt}, &c.Kind, &c.ReturnCode, &c.Text)
	if err != nil {
		return c, fmt.Errorf("read attempt %d of job %d: %w", l.Attempt, l.JobID, err)
	}
	return c, nil
}
