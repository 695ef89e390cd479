package store

import (
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// classify ends the hold of a job: it is ready for another attempt, or has
// failed. How often a job can be retried so is limited. Refusals come before
// anything is written. Force lets it ask for more than there is anywhere.
func (tx *Tx) classify(id int64, w workflow.Classification, force bool) (workflow.HoldOutcome, error) {
	l, err := getOne(tx, "job", id, `SELECT `+leaseColumns+` FROM job WHERE id = ?`, scanLease)
	o := workflow.HoldOutcome{JobID: id, JobName: l.name, Status: &l.status}
	if err != nil {
		return o, err
	}
	r, err := tx.run(l.workflowID)
	if err != nil {
		return o, err
	}
	if !workflow.CanTransition(l.status, w.Status, workflow.OpClassify) {
		return o, workflow.Errorf(workflow.CodeConflict, "job_id=%d has status=%s and cannot be classified as %s", id, l.status, w.Status)
	}
	if err := tx.refuseEnd(r, id); err != nil {
		return o, err
	}
	f := newFinisher(tx, r)
	c := change{job: id, from: l.status, to: w.Status}
	cause, err := tx.lastCause(&l, r)
	if err != nil {
		return o, err
	}
	if w.Status == workflow.Ready {
		if c.next, err = f.retryClassified(&l, cause, w.Author); err != nil {
			return o, err
		}
		if o.Asks, err = f.reask(&l, &w, force); err != nil {
			return o, err
		}
		o.Attempt = c.next.attempt
	}
	if err := tx.recordClassification(r, &l, w, o.Asks); err != nil {
		return o, err
	}
	if l.status = w.Status; w.Status.IsComplete() {
		if err := f.announceStatus(&l, cause, w.Reason); err != nil {
			return o, err
		}
	}
	o.Resolved = true
	done, err := tx.applyChanges(r, []change{c})
	if err != nil {
		return o, err
	}
	if err := tx.completed(r.workflowID, done); err != nil {
		return o, err
	}
	if w.Status == workflow.Ready && r.stages { // it may have been held before its stage began
		err = tx.settleStageOf(r, id)
	}
	return o, err
}

// retryClassified makes a held job ready for another attempt, if it may have one.
func (f *finisher) retryClassified(l *lease, cause workflow.Cause, author string) (*next, error) {
	h := workflow.History{AttemptID: l.Attempt}
	policies, err := f.policies(l.JobID, l.runnerID, &h)
	if err != nil {
		return nil, err
	}
	d, err := workflow.DecideClassified(policies, h, author)
	if err != nil {
		return nil, err
	}
	n, err := f.retry(l, &ending{cause: cause}, &d, h)
	if err == nil && cause.Kind == "" { // it was held before it could run
		n.attempt = l.Attempt
	}
	return n, err
}

// recordClassification keeps who ended a hold, and why.
func (tx *Tx) recordClassification(r *run, l *lease, w workflow.Classification, asks string) error {
	_, err := tx.insert(`INSERT INTO classification (workflow_id, job_id, run_id, attempt_id, at_ms, status, author, reason, confidence, memory, runtime)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, r.workflowID, l.JobID, r.runID, l.Attempt, tx.nowMS, int64(w.Status), w.Author, w.Reason, string(w.Confidence), w.Memory, w.Runtime)
	if err != nil {
		return fmt.Errorf("record the classification of job %d: %w", l.JobID, err)
	}
	return tx.event(r.workflowID, string(workflow.EventJobClassified), workflow.SeverityInfo, workflow.JobClassifiedPayload{
		JobID: l.JobID, JobName: l.name, RunID: r.runID, Status: w.Status, Author: w.Author, Reason: w.Reason, Confidence: w.Confidence, Asks: asks,
	})
}

// classifications returns the words that ended holds of a job, oldest first.
func (l *looker) classifications(job int64) ([]workflow.PastClassification, error) {
	return look(l, `SELECT run_id, attempt_id, at_ms, status, author, reason, confidence, memory, runtime FROM classification WHERE job_id = ? ORDER BY id`,
		[]any{job}, func(r rowScanner) (c workflow.PastClassification, err error) {
			return c, r.Scan(&c.RunID, &c.Attempt, &c.AtMS, &c.Status, &c.Author, &c.Reason, &c.Confidence, &c.Memory, &c.Runtime)
		})
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
	_, err := tx.classify(id, workflow.Classification{Status: to, Author: u.Author, Reason: "the job's status was updated"}, false)
	return err
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
