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

	// What happens if it fails and no rule is about that, and the status of the
	// failed attempt.
	OnError workflow.Action    `json:"on_error"`
	Status  workflow.JobStatus `json:"status"`
	RunID   int64              `json:"run_id"` // of the failed attempt
	// HoldLimit is how long the job waits if it is held then, as Rule says, which
	// granted the retry.
	HoldLimit *workflow.HoldLimit `json:"hold_limit,omitempty"`
	Rule      string              `json:"rule,omitempty"`
}

// Recovered says how a recovery script ended.
type Recovered struct {
	LeaseRef
	ReturnCode int64
	Error      string // could not run, timed out; empty if it ended by itself
	// If it failed: when it ran, and how it ended; nil if nobody saw that.
	StartedMS, EndedMS int64
	Evidence           *workflow.Evidence
}

func (r *Recovered) failed() bool { return r.ReturnCode != 0 || r.Error != "" }

// evidence is what is known of how the script failed.
func (r *Recovered) evidence() workflow.Evidence {
	switch {
	case r.Evidence != nil:
		return *r.Evidence
	case r.Error == "":
		return workflow.Evidence{ExitCode: &r.ReturnCode}
	}
	return workflow.Evidence{LostRunner: true, Note: r.Error}
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
		OnError: d.OnRecoveryError, Status: e.cause.Status, RunID: f.run.runID, HoldLimit: d.HoldLimit, Rule: d.Rule,
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
	d := workflow.Decision{Action: workflow.ActionRetry}
	var n *next
	switch {
	case r.failed() && order.RunID != f.run.runID:
		// Its attempt and budgets are those of a run that is over.
		d.Reason = "its recovery script failed, but a new run has begun meanwhile"
	case r.failed():
		if d, n, err = f.failedRecovery(l, r, order); err != nil {
			return err
		}
	}
	p := workflow.JobRecoveredPayload{
		JobID: l.JobID, JobName: l.name, RunID: f.run.runID, AttemptID: l.Attempt, ReturnCode: r.ReturnCode, Error: r.Error,
		Action: d.Action, Reason: d.Reason, Rule: d.Rule,
	}
	if n != nil && n.notBeforeMS > 0 {
		p.NotBeforeMS = &n.notBeforeMS
	}
	if err := f.tx.event(f.run.workflowID, string(workflow.EventJobRecovered), workflow.SeverityInfo, p); err != nil {
		return err
	}
	l.recovering, f.changed = false, true
	c := change{job: l.JobID, from: workflow.Pending}
	cause := workflow.Cause{Kind: order.Cause, ReturnCode: order.ReturnCode}
	switch d.Action {
	case workflow.ActionFail:
		c.to = order.Status
	case workflow.ActionHold:
		c.to = workflow.PendingFailed
		limit := limitOf(&d)
		if d.Rule == "" { // of on_recovery_error
			limit = workflow.HoldLimitSource{Limit: order.HoldLimit, Of: "rule " + order.Rule}
		}
		if c.next, err = f.hold(l, cause, d.Reason, limit); err != nil {
			return err
		}
	default:
		l.status = workflow.Ready
		return f.tx.readyAfterRecovery(f.run, l.JobID, n)
	}
	l.status = c.to
	f.changes = append(f.changes, c)
	return f.announceStatus(l, cause, d.Reason)
}

// failedRecovery decides what happens after a recovery script has failed, and
// records it. How the job goes on is nil where its retry is as it was granted.
func (f *finisher) failedRecovery(l *lease, r *Recovered, order *Recovery) (workflow.Decision, *next, error) {
	h := workflow.History{AttemptID: l.Attempt}
	policies, err := f.policies(l.JobID, l.runnerID, &h)
	if err != nil {
		return workflow.Decision{}, nil, err
	}
	host, err := f.tx.holder(l.runnerID)
	if err != nil {
		return workflow.Decision{}, nil, err
	}
	evidence := r.evidence()
	e := ending{cause: workflow.Classify(evidence, workflow.ReturnCodes{}, nil), evidence: &evidence, endMS: f.tx.nowMS, host: host}
	script := *l // as a lease whose process is the script
	script.startMS = sql.NullInt64{Int64: r.StartedMS, Valid: r.StartedMS > 0}
	if r.EndedMS > 0 {
		e.endMS = r.EndedMS
	}
	d := workflow.DecideRecovery(policies, h, e.failure(&script), order.OnError)
	said := fmt.Sprintf("its recovery script failed with return code %d", r.ReturnCode)
	if r.Error != "" {
		said = "its recovery script failed: " + r.Error
	}
	d.Reason = said + "; " + d.Reason
	if err := f.recordRecovery(&script, &e, &d, order); err != nil || !d.Retries() || d.Rule == "" {
		return d, nil, err
	}
	n, err := f.retry(&script, &e, &d, h)
	return d, n, err
}

// recordRecovery keeps that a recovery script failed, and what was decided.
func (f *finisher) recordRecovery(l *lease, e *ending, d *workflow.Decision, order *Recovery) error {
	evidence, err := json.Marshal(e.evidence)
	if err != nil {
		return fmt.Errorf("write the evidence of the recovery of job %d: %w", l.JobID, err)
	}
	c := &e.cause
	_, err = f.tx.exec(`INSERT INTO failed_recovery (job_id, run_id, attempt_id, workflow_id, hostname, start_ms, end_ms, return_code, cause, confidence,
			cause_text, evidence, on_error, action, reason, rule, policy_hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		l.JobID, f.run.runID, l.Attempt, f.run.workflowID, e.host.hostname, l.startMS, e.endMS, c.ReturnCode, string(c.Kind), string(c.Confidence),
		c.Text, string(evidence), string(order.OnError), string(d.Action), d.Reason, d.Rule, d.PolicyHash)
	if err != nil {
		return fmt.Errorf("record the recovery of job %d: %w", l.JobID, err)
	}
	return nil
}

// readyAfterRecovery makes a job ready whose retry was granted before its
// recovery script ran. What a rule about the script's failure adds to the retry,
// if it is not nil, makes it no earlier and takes no node that it keeps away from.
func (tx *Tx) readyAfterRecovery(r *run, job int64, n *next) error {
	if n == nil {
		n = &next{}
	}
	err := tx.execOne(`UPDATE job SET status = 2, phase = 0, recovery = NULL, compute_node_id = NULL, claimed_ms = NULL,
			origin = COALESCE(origin, 'retry'), attempt_id = attempt_id + 1, rule_counts = COALESCE(?2, rule_counts),
			not_before_ms = MAX(not_before_ms, ?3), avoid_nodes = COALESCE(?4, avoid_nodes)
		WHERE id = ?1 AND status = 3 AND phase = 1`, job, n.ruleCounts, n.notBeforeMS, n.avoidNodes)
	if err != nil {
		return fmt.Errorf("make job %d ready after its recovery: %w", job, err)
	}
	tx.move(r.workflowID, workflow.Pending, workflow.Ready, 1)
	return tx.waitAgain(r.workflowID, []int64{job})
}
