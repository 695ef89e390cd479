package store

import (
	"encoding/json"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/engine"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
	"github.com/torc-slurm/torc-slurm/workflow/retry"
)

// classifyJob ends the hold of a job, which becomes ready for another attempt or fails. The
// number of such retries is limited. Rejections come before anything is written. Force
// permits requirements beyond what is available anywhere.
func classifyJob(tx *core.Tx, id int64, w hold.Classification, force bool) (hold.HoldOutcome, error) {
	l, err := core.GetOne(tx, "job", id, `SELECT `+core.LeaseColumns+` FROM job WHERE id = ?`, core.ScanLease)
	o := hold.HoldOutcome{JobID: id, JobName: l.Name, Status: &l.Status}
	if err != nil {
		return o, err
	}
	r, err := core.LoadRun(tx, l.WorkflowID)
	if err != nil {
		return o, err
	}
	if !workflow.CanTransition(l.Status, w.Status, workflow.OpClassify) {
		return o, workflow.Errorf(workflow.CodeConflict, "job_id=%d has status=%s and cannot be classified as %s", id, l.Status, w.Status)
	}
	if err := engine.RequireNotUndone(tx, r, id); err != nil {
		return o, err
	}
	f := engine.NewFinisher(tx, r)
	c := engine.Change{Job: id, Op: workflow.OpClassify, From: l.Status, To: w.Status}
	cause, failure, err := lastFailure(tx, &l, r)
	if err != nil {
		return o, err
	}
	if w.Status == workflow.Ready {
		if c.Next, o.Asks, err = f.RetryClassified(&l, cause, retry.RetryVerdict{Classification: w, Force: force, NotBegun: cause.Kind == ""}); err != nil {
			return o, err
		}
		o.Attempt = c.Next.Attempt
	}
	if err := engine.RecordClassification(tx, r, &l, w, o.Asks, failure); err != nil {
		return o, err
	}
	if l.Status = w.Status; w.Status.IsComplete() {
		if err := f.AnnounceStatus(&l, cause, w.Reason); err != nil {
			return o, err
		}
	}
	o.Resolved = true
	done, err := engine.ApplyChanges(tx, r, []engine.Change{c})
	if err != nil {
		return o, err
	}
	if err := engine.ReleaseDependents(tx, r.WorkflowID, done); err != nil {
		return o, err
	}
	if w.Status == workflow.Ready && r.Stages { // it may have been held before its stage started
		err = engine.SettleStageOf(tx, r, id)
	}
	return o, err
}

// classifyByUpdate treats an update of a held job's status as a classification, and removes
// it from the update.
func classifyByUpdate(tx *core.Tx, id int64, u *workflow.JobUpdate) error {
	if u.Status == nil {
		return nil
	}
	var status workflow.JobStatus
	if err := tx.Row(`SELECT status FROM job WHERE id = ?`, []any{id}, &status); err != nil {
		return view.OrNotFound(err, "job", id)
	}
	if !workflow.CanTransition(status, *u.Status, workflow.OpClassify) {
		return nil
	}
	to := *u.Status
	u.Status = nil
	_, err := classifyJob(tx, id, hold.Classification{Status: to, Author: u.Author, Reason: "the job's status was updated"}, false)
	return err
}

// lastFailure returns why the latest attempt of a job ended, and what it has in common with
// others that failed alike; zero values if none is recorded.
func lastFailure(tx *core.Tx, l *core.LeasedJob, r *view.Run) (c workflow.Cause, alike hold.AlikeFailure, err error) {
	var evidence string
	err = tx.Row(`SELECT COALESCE(MAX(cause), ''), COALESCE(MAX(return_code), 0), COALESCE(MAX(cause_text), ''), COALESCE(MAX(evidence), '{}') FROM attempt
		WHERE job_id = ? AND run_id = ? AND attempt_id = ?`, []any{l.JobID, r.RunID, l.Attempt}, &c.Kind, &c.ReturnCode, &c.Text, &evidence)
	if err != nil {
		return c, alike, fmt.Errorf("read attempt %d of job %d: %w", l.Attempt, l.JobID, err)
	}
	var e workflow.Evidence
	if err := json.Unmarshal([]byte(evidence), &e); err != nil {
		return c, alike, fmt.Errorf("read the evidence of job %d: %w", l.JobID, err)
	}
	return c, hold.NewAlikeFailure(c, e), nil
}
