package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/engine"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/failure"
)

// Completion is a torc client's report that a job has ended.
type Completion struct {
	JobID  int64
	Status workflow.JobStatus
	RunID  int64
	Result workflow.Result
}

// Complete records a torc client's report that a job has ended, with its consequences. The
// job need not have been claimed. Repeating it changes nothing.
func (s Jobs) Complete(_ context.Context, c Completion) (workflow.Job, error) {
	var j workflow.Job
	err := s.shared.Do("complete job", func(tx *core.Tx) error {
		err := recordCompletion(tx, &c, nil)
		if workflow.CodeOf(err) == workflow.CodeConflict {
			if same, e := isRecorded(tx, &c); e != nil || same {
				err = e
			}
		}
		if err != nil {
			return err
		}
		j, err = engine.GetJob(tx, c.JobID)
		return err
	})
	return j, err
}

// CompletionError is a rejected entry of a batch.
type CompletionError struct {
	JobID   int64
	Message string
}

// CompleteBatch records a torc client's reports of several jobs of a workflow, in order. A
// rejected entry does not affect the others.
func (s Jobs) CompleteBatch(_ context.Context, workflowID int64, all []Completion) (completed []int64, refused []CompletionError, err error) {
	err = s.shared.Do("complete jobs", func(tx *core.Tx) error {
		completed, refused = nil, nil
		if err := core.RequireWorkflow(tx, workflowID); err != nil {
			return err
		}
		for i := range all {
			c := &all[i]
			err := tx.Savepoint(func() error { return recordCompletion(tx, c, &workflowID) })
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

// recordCompletion records one report; of the given workflow, if it is not nil.
func recordCompletion(tx *core.Tx, c *Completion, workflowID *int64) error {
	if !c.Status.IsTerminal() {
		return workflow.Errorf(workflow.CodeInvalid, "a job cannot be completed with status=%s", c.Status).
			WithHint("use completed, failed, canceled, terminated or pending_failed")
	}
	l, err := core.GetOne(tx, "job", c.JobID, `SELECT `+core.LeaseColumns+` FROM job WHERE id = ?`, core.ScanLease)
	if err != nil {
		return err
	}
	if workflowID != nil && l.WorkflowID != *workflowID {
		return workflow.Errorf(workflow.CodeInvalid, "job_id=%d belongs to workflow %d, not to workflow %d", c.JobID, l.WorkflowID, *workflowID)
	}
	r, err := core.LoadRun(tx, l.WorkflowID)
	if err != nil {
		return err
	}
	if err := checkCompletion(tx, c, &l, r); err != nil {
		return err
	}
	if err := engine.RequireNotUndone(tx, r, c.JobID); err != nil {
		return err
	}
	host, err := engine.LoadHolder(tx, sql.NullInt64{Int64: c.Result.ComputeNodeID, Valid: true})
	if err != nil {
		return err
	}
	if l.RunnerID.Valid && l.Status.IsLive() { // it may be held by one of our runners
		tx.Changes.Runners = core.AppendNew(tx.Changes.Runners, []int64{l.RunnerID.Int64})
	}
	if err := nextAttemptNumber(tx, &l, r, c.Result.AttemptID); err != nil {
		return err
	}
	codes, err := r.ReturnCodes()
	if err != nil {
		return err
	}
	f := engine.NewFinisher(tx, r)
	_, err = f.End(&l, engine.Ending{
		Cause: failure.ClassifyReport(c.Status, c.Result.ReturnCode, codes), EndMS: endOf(tx, &c.Result), Host: host, Client: &c.Result,
	})
	if err != nil {
		return err
	}
	for i := range f.Changes {
		f.Changes[i].Op = workflow.OpComplete
	}
	_, err = f.Flush()
	return err
}

// checkCompletion rejects a report that contradicts itself or the job.
func checkCompletion(tx *core.Tx, c *Completion, l *core.LeasedJob, r *view.Run) error {
	differs := func(field string, have, want any) error {
		return workflow.Errorf(workflow.CodeInvalid, "%s=%v of the result of job_id=%d does not match %v", field, have, c.JobID, want)
	}
	res := &c.Result
	switch {
	case l.IsStage:
		return workflow.Errorf(workflow.CodeConflict, "job_id=%d is a sub-workflow and ends as its jobs do", c.JobID).
			WithHint("complete the jobs of the sub-workflow")
	case l.Status.IsComplete():
		return workflow.Errorf(workflow.CodeConflict, "job_id=%d is already complete with status=%s", c.JobID, l.Status)
	case res.JobID != c.JobID:
		return differs("job_id", res.JobID, c.JobID)
	case res.WorkflowID != l.WorkflowID:
		return differs("workflow_id", res.WorkflowID, l.WorkflowID)
	case res.Status != c.Status:
		return differs("status", res.Status, c.Status)
	case res.RunID != c.RunID:
		return differs("run_id", res.RunID, c.RunID)
	case c.RunID != r.RunID:
		return workflow.Errorf(workflow.CodeConflict, "Run ID mismatch: provided %d but workflow status has %d", c.RunID, r.RunID)
	case !workflow.CanTransition(l.Status, c.Status, workflow.OpComplete):
		return workflow.Errorf(workflow.CodeConflict, "job_id=%d has status=%s and cannot be completed with status=%s", c.JobID, l.Status, c.Status)
	case res.AttemptID < l.Attempt:
		return workflow.Errorf(workflow.CodeConflict, "attempt_id=%d of job_id=%d is over: the job is at attempt %d", res.AttemptID, c.JobID, l.Attempt)
	}
	return core.RequireIn(tx, "compute_node", "compute node", l.WorkflowID, res.ComputeNodeID)
}

// nextAttemptNumber sets the number of the attempt that a client reports: at least the
// number it gives, and after all that are recorded in this run.
func nextAttemptNumber(tx *core.Tx, l *core.LeasedJob, r *view.Run, said int64) error {
	err := tx.Row(`UPDATE job SET attempt_id = MAX(?2, 1 + COALESCE((SELECT MAX(attempt_id) FROM attempt WHERE job_id = ?1 AND run_id = ?3), 0))
		WHERE id = ?1 RETURNING attempt_id`, []any{l.JobID, said, r.RunID}, &l.Attempt)
	return sqlite.Wrap(err, "number the attempt of job %d", l.JobID)
}

// endOf returns the end of an attempt that a client reports, in ms.
func endOf(tx *core.Tx, r *workflow.Result) int64 {
	if t, err := time.Parse(time.RFC3339, r.CompletionTime); err == nil {
		return t.UnixMilli()
	}
	return tx.NowMS
}

// isRecorded reports whether a report was recorded before.
func isRecorded(tx *core.Tx, c *Completion) (same bool, err error) {
	r := &c.Result
	err = tx.Row(`SELECT EXISTS (SELECT 1 FROM job j JOIN result r ON r.id = j.result_id
		WHERE j.id = ?1 AND j.status = ?2 AND r.status = ?2 AND r.run_id = ?3 AND r.attempt_id >= ?4 AND r.compute_node_id = ?5
			AND r.return_code = ?6 AND r.completion_time = ?7 AND r.exec_time_minutes = ?8)`,
		[]any{c.JobID, int64(c.Status), c.RunID, r.AttemptID, r.ComputeNodeID, r.ReturnCode, r.CompletionTime, r.ExecTimeMinutes}, &same)
	return same, sqlite.Wrap(err, "compare the result of job %d", c.JobID)
}
