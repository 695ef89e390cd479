package store

import (
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// recoverySeconds is how long a recovery script may run.
const recoverySeconds = 600

// Recovery is the order to run a recovery script for a failed attempt.
type Recovery struct {
	Script         string             `json:"script"`
	ReturnCode     int64              `json:"return_code"` // of the failed attempt
	Cause          workflow.CauseKind `json:"cause"`
	TimeoutSeconds float64            `json:"timeout_seconds"`

	// What happens if it fails, and the status of the failed attempt.
	OnError workflow.Action    `json:"on_error"`
	Status  workflow.JobStatus `json:"status"`
}

// Recovered says how a recovery script ended.
type Recovered struct {
	LeaseRef
	ReturnCode int64
	Error      string // could not run, timed out; empty if it ended by itself
}

// recover has the recovery script run first. The retry is granted already, so
// that nobody can begin the next attempt meanwhile.
func (f *finisher) recover(l *lease, e *ending, d *workflow.Decision, h workflow.History) (*next, *Recovery, error) {
	n, err := f.retry(l, e, d, h)
	if err != nil {
		return nil, nil, err
	}
	order := &Recovery{
		Script: d.RecoveryScript, ReturnCode: e.cause.ReturnCode, Cause: e.cause.Kind, TimeoutSeconds: recoverySeconds,
		OnError: d.OnRecoveryError, Status: e.cause.Status,
	}
	text, err := json.Marshal(order)
	if err != nil {
		return nil, nil, fmt.Errorf("order the recovery of job %d: %w", l.JobID, err)
	}
	n.recovery = string(text)
	return n, order, nil
}

// recovery reads the order that a job waits for; nil if there is none.
func (tx *Tx) recovery(job int64) (*Recovery, error) {
	var text sql.NullString
	if err := tx.row(`SELECT recovery FROM job WHERE id = ?`, []any{job}, &text); err != nil {
		return nil, fmt.Errorf("read the recovery of job %d: %w", job, err)
	}
	if !text.Valid {
		return nil, nil
	}
	var order Recovery
	if err := json.Unmarshal([]byte(text.String), &order); err != nil {
		return nil, fmt.Errorf("read the recovery of job %d: %w", job, err)
	}
	return &order, nil
}

// recovered takes in how the recovery script of a lease ended.
func (f *finisher) recovered(l *lease, r *Recovered) (ReportResult, error) {
	result := ReportResult{LeaseRef: r.LeaseRef, Outcome: Accepted}
	if l == nil {
		var err error
		if l, err = f.foreign(r.JobID); err != nil {
			return result, err
		}
	}
	switch {
	case l == nil:
		result.Outcome, result.Message = Refused, notFound("job", r.JobID).Error()
		return result, nil
	case l.LeaseRef != r.LeaseRef || !l.recovering || l.ended != nil:
		result.Outcome, result.Status = Duplicate, l.status
		return result, nil
	}
	l.said = true
	err := f.afterRecovery(l, r)
	result.Status = l.status
	return result, err
}

// recoveryLost says that a recovery script did not run to its end.
func (f *finisher) recoveryLost(l *lease, why string) error {
	return f.afterRecovery(l, &Recovered{LeaseRef: l.LeaseRef, ReturnCode: workflow.ReturnCodeUnknown, Error: why})
}

// afterRecovery lets a job go on after its recovery script.
func (f *finisher) afterRecovery(l *lease, r *Recovered) error {
	order, err := f.tx.recovery(l.JobID)
	if err != nil {
		return err
	}
	action := workflow.ActionRetry
	if r.ReturnCode != 0 || r.Error != "" {
		action = order.OnError
	}
	err = f.tx.event(f.run.workflowID, string(workflow.EventJobRecovered), workflow.SeverityInfo, workflow.JobRecoveredPayload{
		JobID: l.JobID, JobName: l.name, RunID: f.run.runID, AttemptID: l.Attempt, ReturnCode: r.ReturnCode, Error: r.Error, Action: action,
	})
	if err != nil {
		return err
	}
	l.recovering, f.changed = false, true
	reason := fmt.Sprintf("its recovery script failed with return code %d", r.ReturnCode)
	if r.Error != "" {
		reason = "its recovery script failed: " + r.Error
	}
	c := change{job: l.JobID, from: workflow.Pending}
	switch action {
	case workflow.ActionFail:
		c.to = order.Status
	case workflow.ActionHold:
		c.to = workflow.PendingFailed
		if c.next, err = f.hold(l, reason); err != nil {
			return err
		}
	default:
		l.status = workflow.Ready
		return f.tx.readyAfterRecovery(f.run, l.JobID)
	}
	l.status = c.to
	f.changes = append(f.changes, c)
	return f.announceStatus(l, workflow.Cause{Kind: order.Cause, ReturnCode: order.ReturnCode}, reason)
}

// readyAfterRecovery makes a job ready whose retry was granted before its
// recovery script ran.
func (tx *Tx) readyAfterRecovery(r *run, job int64) error {
	err := tx.execOne(`UPDATE job SET status = 2, phase = 0, recovery = NULL, compute_node_id = NULL, claimed_ms = NULL,
		origin = COALESCE(origin, 'retry'), attempt_id = attempt_id + 1 WHERE id = ? AND status = 3 AND phase = 1`, job)
	if err != nil {
		return fmt.Errorf("make job %d ready after its recovery: %w", job, err)
	}
	tx.move(r.workflowID, workflow.Pending, workflow.Ready, 1)
	return tx.waitAgain(r.workflowID, []int64{job})
}
