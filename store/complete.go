package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// Completion is a torc client's word that a job has ended.
type Completion struct {
	JobID  int64
	Status workflow.JobStatus
	RunID  int64
	Result workflow.Result
}

// CompleteJob records a torc client's word that a job has ended, with all that
// follows from it. The job need not have been claimed. The same word again
// changes nothing.
func (s *Store) CompleteJob(_ context.Context, c Completion) (workflow.Job, error) {
	var j workflow.Job
	err := s.writer.do("complete job", func(tx *Tx) error {
		err := tx.complete(&c, nil)
		if workflow.CodeOf(err) == workflow.CodeConflict {
			if same, e := tx.isRecorded(&c); e != nil || same {
				err = e
			}
		}
		if err != nil {
			return err
		}
		j, err = getJob(tx, c.JobID)
		return err
	})
	return j, err
}

// CompletionError is an entry of a batch that was refused.
type CompletionError struct {
	JobID   int64
	Message string
}

// BatchCompleteJobs records what a torc client says of several jobs of a
// workflow, in their order. An entry that is refused does not touch the others.
func (s *Store) BatchCompleteJobs(_ context.Context, workflowID int64, all []Completion) (completed []int64, refused []CompletionError, err error) {
	err = s.writer.do("complete jobs", func(tx *Tx) error {
		completed, refused = nil, nil
		if err := tx.requireWorkflow(workflowID); err != nil {
			return err
		}
		for i := range all {
			c := &all[i]
			err := tx.savepoint(func() error { return tx.complete(c, &workflowID) })
			var refusal *workflow.Error
			switch {
			case err == nil:
				completed = append(completed, c.JobID)
			case errors.As(err, &refusal):
				refused = append(refused, CompletionError{c.JobID, refusal.Message})
			default:
				return fmt.Errorf("complete job %d: %w", c.JobID, err)
			}
		}
		return nil
	})
	return completed, refused, err
}

// complete records one completion, of the given workflow if there is one.
func (tx *Tx) complete(c *Completion, workflowID *int64) error {
	if !c.Status.IsTerminal() {
		return workflow.Errorf(workflow.CodeInvalid, "a job cannot be completed with status=%s", c.Status).
			WithHint("use completed, failed, canceled, terminated or pending_failed")
	}
	l, err := getOne(tx, "job", c.JobID, `SELECT `+leaseColumns+` FROM job WHERE id = ?`, scanLease)
	if err != nil {
		return err
	}
	if workflowID != nil && l.workflowID != *workflowID {
		return workflow.Errorf(workflow.CodeInvalid, "job_id=%d belongs to workflow %d, not to workflow %d", c.JobID, l.workflowID, *workflowID)
	}
	r, err := tx.run(l.workflowID)
	if err != nil {
		return err
	}
	if err := tx.checkCompletion(c, &l, r); err != nil {
		return err
	}
	if err := tx.refuseEnd(r, c.JobID); err != nil {
		return err
	}
	host, err := tx.holder(sql.NullInt64{Int64: c.Result.ComputeNodeID, Valid: true})
	if err != nil {
		return err
	}
	if l.runnerID.Valid && l.status.IsLive() { // a runner of ours may have it
		tx.changes.Runners = appendNew(tx.changes.Runners, []int64{l.runnerID.Int64})
	}
	if err := tx.nextAttempt(&l, r, c.Result.AttemptID); err != nil {
		return err
	}
	codes, err := r.returnCodes()
	if err != nil {
		return err
	}
	f := newFinisher(tx, r)
	_, err = f.end(&l, ending{
		cause: workflow.ClassifyReport(c.Status, c.Result.ReturnCode, codes), endMS: tx.endOf(&c.Result), host: host, client: &c.Result,
	})
	if err != nil {
		return err
	}
	_, err = f.flush()
	return err
}

// checkCompletion refuses a completion that does not agree with itself or with
// the job.
func (tx *Tx) checkCompletion(c *Completion, l *lease, r *run) error {
	differs := func(field string, have, want any) error {
		return workflow.Errorf(workflow.CodeInvalid, "%s=%v of the result of job_id=%d does not match %v", field, have, c.JobID, want)
	}
	res := &c.Result
	switch {
	case l.isStage:
		return workflow.Errorf(workflow.CodeConflict, "job_id=%d is a sub-workflow and ends as its jobs do", c.JobID).
			WithHint("complete the jobs of the sub-workflow")
	case l.status.IsComplete():
		return workflow.Errorf(workflow.CodeConflict, "job_id=%d is already complete with status=%s", c.JobID, l.status)
	case res.JobID != c.JobID:
		return differs("job_id", res.JobID, c.JobID)
	case res.WorkflowID != l.workflowID:
		return differs("workflow_id", res.WorkflowID, l.workflowID)
	case res.Status != c.Status:
		return differs("status", res.Status, c.Status)
	case res.RunID != c.RunID:
		return differs("run_id", res.RunID, c.RunID)
	case c.RunID != r.runID:
		return workflow.Errorf(workflow.CodeConflict, "Run ID mismatch: provided %d but workflow status has %d", c.RunID, r.runID)
	case !workflow.CanTransition(l.status, c.Status, workflow.OpComplete):
		return workflow.Errorf(workflow.CodeConflict, "job_id=%d has status=%s and cannot be completed with status=%s", c.JobID, l.status, c.Status)
	case res.AttemptID < l.Attempt:
		return workflow.Errorf(workflow.CodeConflict, "attempt_id=%d of job_id=%d is over: the job is at attempt %d", res.AttemptID, c.JobID, l.Attempt)
	}
	return tx.requireIn("compute_node", "compute node", l.workflowID, res.ComputeNodeID)
}

// nextAttempt numbers the attempt that a client reports: not before what it
// says, and after all that are recorded in this run.
func (tx *Tx) nextAttempt(l *lease, r *run, said int64) error {
	err := tx.row(`UPDATE job SET attempt_id = MAX(?2, 1 + COALESCE((SELECT MAX(attempt_id) FROM attempt WHERE job_id = ?1 AND run_id = ?3), 0))
		WHERE id = ?1 RETURNING attempt_id`, []any{l.JobID, said, r.runID}, &l.Attempt)
	if err != nil {
		return fmt.Errorf("number the attempt of job %d: %w", l.JobID, err)
	}
	return nil
}

// endOf is the end of an attempt that a client reports, in ms.
func (tx *Tx) endOf(r *workflow.Result) int64 {
	if t, err := time.Parse(time.RFC3339, r.CompletionTime); err == nil {
		return t.UnixMilli()
	}
	return tx.nowMS
}

// isRecorded reports whether a completion is what the job ended with.
func (tx *Tx) isRecorded(c *Completion) (same bool, err error) {
	r := &c.Result
	err = tx.row(`SELECT EXISTS (SELECT 1 FROM job j JOIN result r ON r.id = j.result_id
		WHERE j.id = ?1 AND j.status = ?2 AND r.status = ?2 AND r.run_id = ?3 AND r.attempt_id >= ?4 AND r.compute_node_id = ?5
			AND r.return_code = ?6 AND r.completion_time = ?7 AND r.exec_time_minutes = ?8)`,
		[]any{c.JobID, int64(c.Status), c.RunID, r.AttemptID, r.ComputeNodeID, r.ReturnCode, r.CompletionTime, r.ExecTimeMinutes}, &same)
	if err != nil {
		return false, fmt.Errorf("compare the result of job %d: %w", c.JobID, err)
	}
	return same, nil
}
