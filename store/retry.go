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
// count.
func (s *Store) RetryJob(_ context.Context, id, runID, maxRetries int64) (workflow.Job, error) {
	var j workflow.Job
	err := s.writer.do("retry job", func(tx *Tx) error {
		l, r, err := tx.jobOfRun(id, runID)
		if err != nil {
			return err
		}
		if err := tx.retry(&l, r, maxRetries); err != nil {
			return err
		}
		j, err = getJob(tx, id)
		return err
	})
	return j, err
}

func (tx *Tx) retry(l *lease, r *run, maxRetries int64) error {
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
	d := workflow.Decision{Action: workflow.ActionRetry, Rule: ruleClient, Counted: true,
		Reason: fmt.Sprintf("retried by a client, attempt %d of %d", h.Attempt(), maxRetries)}
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
	if err := tx.execOne(`UPDATE job SET fence = fence + 1 WHERE id = ?`, l.JobID); err != nil {
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
