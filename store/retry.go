package store

import (
	"context"
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// ruleClient is the rule of retries that torc's clients ask for.
const ruleClient = "client"

// RetryJob makes a job ready for another attempt, as a torc client decided
// after it had failed, be it still running or recorded as failed. It is refused
// from the attempt maxRetries on, where attempts whose retry was free do not
// count, and when the job has no time left for all its attempts.
func (s *Store) RetryJob(_ context.Context, id, runID, maxRetries int64) (workflow.Job, error) {
	return s.retryJob(id, runID, maxRetries, false)
}

// RetryJobAnew is RetryJob as a person decided: the time for all attempts of the
// job begins anew.
func (s *Store) RetryJobAnew(_ context.Context, id, runID, maxRetries int64) (workflow.Job, error) {
	return s.retryJob(id, runID, maxRetries, true)
}

func (s *Store) retryJob(id, runID, maxRetries int64, anew bool) (workflow.Job, error) {
	var j workflow.Job
	err := s.writer.do("retry job", func(tx *Tx) error {
		l, r, err := tx.jobOfRun(id, runID)
		if err != nil {
			return err
		}
		if err := tx.retry(&l, r, maxRetries, anew); err != nil {
			return err
		}
		j, err = getJob(tx, id)
		return err
	})
	return j, err
}

func (tx *Tx) retry(l *lease, r *run, maxRetries int64, anew bool) error {
	if l.status == workflow.Pending || !workflow.CanTransition(l.status, workflow.Ready, workflow.OpRetry) {
		return workflow.Errorf(workflow.CodeConflict, "job_id=%d has status=%s; only a running, failed or terminated job can be retried", l.JobID, l.status)
	}
	if err := tx.refuseResting(r, l.JobID); err != nil {
		return err
	}
	f := newFinisher(tx, r)
	h := workflow.History{AttemptID: l.Attempt}
	if _, err := f.policies(l.JobID, l.runnerID, &h); err != nil {
		return err
	}
	if h.Attempt() >= maxRetries {
		return workflow.Errorf(workflow.CodeConflict, "job_id=%d has used %d of max_retries=%d attempts", l.JobID, h.Attempt(), maxRetries)
	}
	if !anew {
		if err := tx.refuseWithoutTime(l.JobID); err != nil {
			return err
		}
	}
	d := workflow.Decision{Action: workflow.ActionRetry, Rule: ruleClient, Counted: true,
		Reason: fmt.Sprintf("retried by a client, attempt %d of %d", h.Attempt(), maxRetries)}
	if anew {
		d.Reason = "retried by a person"
	}
	cause := workflow.Cause{Kind: workflow.CauseExit, Confidence: workflow.Guess, Status: workflow.Failed,
		ReturnCode: workflow.ReturnCodeUnknown, Text: "its client asked for a retry and did not say how it ended"}
	if l.status == workflow.Running {
		if err := f.cutOff(l, cause, d); err != nil {
			return err
		}
	}
	e := &ending{cause: cause}
	n, err := f.retry(l, e, &d, h)
	if err != nil {
		return err
	}
	from := l.status
	c := change{job: l.JobID, from: from, to: workflow.Ready, next: n}
	if _, err := tx.applyChanges(r, []change{c}); err != nil {
		return err
	}
	err = tx.execOne(`UPDATE job SET fence = fence + 1, first_ready_ms = iif(?2, NULL, first_ready_ms), told = iif(?2, 0, told) WHERE id = ?1`, l.JobID, anew)
	if err != nil {
		return fmt.Errorf("take the lease of job %d: %w", l.JobID, err)
	}
	if err := f.announce(l, e, &d, n); err != nil {
		return err
	}
	if from.IsComplete() {
		if err := tx.reopened(r.workflowID, []int64{l.JobID}); err != nil {
			return err
		}
	}
	return tx.settleJob(r, l.JobID)
}

// refuseWithoutTime refuses another attempt of a job whose time for all of them is
// over: it would end at once.
func (tx *Tx) refuseWithoutTime(job int64) error {
	var p workflow.JobPolicy
	var first int64
	source := policySource{tx.row}
	err := source.json(&p, `SELECT COALESCE((SELECT p.policy FROM job_policy p WHERE p.id = job.policy_id), '{}') FROM job WHERE id = ?`, job)
	if err == nil {
		err = tx.row(`SELECT COALESCE(first_ready_ms, 0) FROM job WHERE id = ?`, []any{job}, &first)
	}
	if err != nil {
		return fmt.Errorf("read the timeouts of job %d: %w", job, err)
	}
	limit := p.Timeouts.Limit(workflow.TimeoutTotal)
	if limit == nil || !limit.Policy.Fails() || first == 0 || first+limit.Duration().Milliseconds() > tx.nowMS {
		return nil
	}
	return workflow.Errorf(workflow.CodeConflict, "job_id=%d has no time left for another attempt: %s", job, limit.Reason(workflow.TimeoutTotal)).
		WithHint("a person's `jobs retry`, or a reset, gives it its whole time again")
}
