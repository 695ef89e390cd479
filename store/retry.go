package store

import (
	"context"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/engine"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/retry"
)

// Retry makes a running or failed job ready for another attempt, as a torc client decided.
// It returns CodeConflict from attempt maxRetries on, not counting free retries, and when
// the job has no time left for another attempt.
func (s Jobs) Retry(ctx context.Context, id, runID, maxRetries int64) (workflow.Job, error) {
	return s.retry(ctx, id, runID, maxRetries, false)
}

// RetryAnew is Retry as a person decided: the total timeout of the job restarts.
func (s Jobs) RetryAnew(ctx context.Context, id, runID, maxRetries int64) (workflow.Job, error) {
	return s.retry(ctx, id, runID, maxRetries, true)
}

func (s Jobs) retry(ctx context.Context, id, runID, maxRetries int64, anew bool) (workflow.Job, error) {
	var j workflow.Job
	err := s.shared.By(ctx).Do("retry job", func(tx *core.Tx) error {
		l, r, err := jobOfRun(tx, id, runID)
		if err != nil {
			return err
		}
		if err := retryJob(tx, &l, r, maxRetries, anew); err != nil {
			return err
		}
		if anew { // torc's runners retry, too
			if err := core.Changed(tx, l.WorkflowID, "retry_job", map[string]any{"job_id": id, "job_name": l.Name}); err != nil {
				return err
			}
		}
		j, err = engine.GetJob(tx, id)
		return err
	})
	return j, err
}

func retryJob(tx *core.Tx, l *core.LeasedJob, r *view.Run, maxRetries int64, anew bool) error {
	if l.Status == workflow.Pending || !workflow.CanTransition(l.Status, workflow.Ready, workflow.OpRetry) {
		return workflow.Errorf(workflow.CodeConflict, "job_id=%d has status=%s; only a running, failed or terminated job can be retried", l.JobID, l.Status)
	}
	if err := engine.RequireCompensationRuns(tx, r, l.JobID); err != nil {
		return err
	}
	f := engine.NewFinisher(tx, r)
	g := f.NewFacts(l)
	g.Again = &retry.AskedRetry{MaxRetries: maxRetries, Anew: anew}
	if _, err := f.Policies(l.JobID, l.RunnerID, &g.History); err != nil { // they do not decide here
		return err
	}
	o := retry.Decide(g.Facts)
	if o.Refused != nil {
		return o.Refused
	}
	if !anew {
		if err := refuseWithoutTime(tx, l.JobID); err != nil {
			return err
		}
	}
	cause := workflow.Cause{Kind: workflow.CauseExit, Confidence: workflow.Guess, Status: workflow.Failed,
		ReturnCode: workflow.ReturnCodeUnknown, Text: "its client asked for a retry and did not say how it ended"}
	if l.Status == workflow.Running {
		if err := f.RecordEndedElsewhere(l, cause, o.Decision); err != nil {
			return err
		}
	}
	e := &engine.Ending{Cause: cause}
	n, err := f.Continue(l, g, &o, cause)
	if err != nil {
		return err
	}
	from := l.Status
	c := engine.Change{Job: l.JobID, From: from, To: o.Status, Next: n}
	if _, err := engine.ApplyChanges(tx, r, []engine.Change{c}); err != nil {
		return err
	}
	err = tx.ExecOne(`UPDATE job SET fence = fence + 1, first_ready_ms = iif(?2, NULL, first_ready_ms), told = iif(?2, 0, told) WHERE id = ?1`, l.JobID, anew)
	if err != nil {
		return fmt.Errorf("void the lease of job %d: %w", l.JobID, err)
	}
	if err := f.Announce(l, e, &o.Decision, n); err != nil {
		return err
	}
	if from.IsComplete() {
		if err := engine.ReopenDependents(tx, r.WorkflowID, []int64{l.JobID}); err != nil {
			return err
		}
	}
	return engine.SettleJob(tx, r, l.JobID)
}

// refuseWithoutTime returns CodeConflict if a job's total timeout has expired, since
// another attempt would end at once.
func refuseWithoutTime(tx *core.Tx, job int64) error {
	var p workflow.JobPolicy
	var first int64
	source := view.PolicySource{Row: tx.Row}
	err := source.JSON(&p, `SELECT COALESCE((SELECT p.policy FROM job_policy p WHERE p.id = job.policy_id), '{}') FROM job WHERE id = ?`, job)
	if err == nil {
		err = tx.Row(`SELECT COALESCE(first_ready_ms, 0) FROM job WHERE id = ?`, []any{job}, &first)
	}
	if err != nil {
		return fmt.Errorf("read the timeouts of job %d: %w", job, err)
	}
	limit := p.Timeouts.Limit(workflow.TimeoutTotal)
	if limit == nil || !limit.Policy.Fails() || first == 0 || first+limit.Duration().Milliseconds() > tx.NowMS {
		return nil
	}
	return workflow.Errorf(workflow.CodeConflict, "job_id=%d has no time left for another attempt: %s", job, limit.Reason(workflow.TimeoutTotal)).
		WithHint("`jobs retry` or a reset restarts its timeout")
}
