package engine

import (
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/event"
	"github.com/torc-slurm/torc-slurm/workflow/failure"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
	"github.com/torc-slurm/torc-slurm/workflow/retry"
)

// recoverySeconds limits a recovery script.
const recoverySeconds = 600

// RecoveryOrder is a recovery script for a failed attempt, and what follows it.
type RecoveryOrder struct {
	lease.Recovery

	// OnError applies if the script fails and no rule matches that. Status is that of the
	// failed attempt.
	OnError workflow.Action    `json:"on_error"`
	Status  workflow.JobStatus `json:"status"`
	RunID   int64              `json:"run_id"` // of the failed attempt
	// HoldLimit limits the hold that follows a failed script. Rule is the rule that granted
	// the retry.
	HoldLimit *workflow.HoldLimit `json:"hold_limit,omitempty"`
	Rule      string              `json:"rule,omitempty"`
}

// toRunner returns the runner's part of an order; nil for nil.
func (o *RecoveryOrder) toRunner() *lease.Recovery {
	if o == nil {
		return nil
	}
	return &o.Recovery
}

// recoveryEvidence returns the evidence of a failed recovery script.
func recoveryEvidence(r *lease.Recovered) workflow.Evidence {
	switch {
	case r.Evidence != nil:
		return *r.Evidence
	case r.Error == "":
		return workflow.Evidence{ExitCode: &r.ReturnCode}
	}
	return workflow.Evidence{LostRunner: true, Note: r.Error}
}

// recover orders the recovery script. The retry is already granted, and the job keeps its
// lease, so that the next attempt cannot start meanwhile.
func (f *Finisher) recover(l *core.LeasedJob, e *Ending, o *retry.Outcome, n *Next) (*lease.Recovery, error) {
	order := &RecoveryOrder{
		Recovery: lease.Recovery{Script: o.RecoveryScript, ReturnCode: e.Cause.ReturnCode, Cause: e.Cause.Kind, TimeoutSeconds: recoverySeconds},
		OnError:  o.OnRecoveryError, Status: e.Cause.Status, RunID: f.Run.RunID, HoldLimit: o.HoldLimit, Rule: o.Rule,
	}
	text, err := json.Marshal(order)
	if err != nil {
		return nil, fmt.Errorf("order the recovery of job %d: %w", l.JobID, err)
	}
	n.recovery = string(text)
	return &order.Recovery, nil
}

// loadRecovery returns the order that a job waits for; nil if there is none.
func loadRecovery(tx *core.Tx, job int64) (*RecoveryOrder, error) {
	var text sql.NullString
	if err := tx.Row(`SELECT recovery FROM job WHERE id = ?`, []any{job}, &text); err != nil {
		return nil, fmt.Errorf("read the recovery of job %d: %w", job, err)
	}
	if !text.Valid {
		return nil, nil
	}
	var order RecoveryOrder
	if err := json.Unmarshal([]byte(text.String), &order); err != nil {
		return nil, fmt.Errorf("read the recovery of job %d: %w", job, err)
	}
	return &order, nil
}

// Recovered records how the recovery script of a lease ended.
func (f *Finisher) Recovered(l *core.LeasedJob, r *lease.Recovered) (lease.ReportResult, error) {
	result := lease.ReportResult{LeaseRef: r.LeaseRef, Outcome: lease.Accepted}
	if l == nil {
		var err error
		if l, err = f.AnyLease(r.JobID); err != nil {
			return result, err
		}
	}
	switch {
	case l == nil:
		result.Outcome, result.Message = lease.Refused, view.NotFound("job", r.JobID).Error()
		return result, nil
	case l.LeaseRef != r.LeaseRef || !l.Recovering || l.Ended != nil:
		result.Outcome, result.Status = lease.Duplicate, l.Status
		return result, nil
	}
	l.Said = true
	err := f.AfterRecovery(l, r)
	result.Status = l.Status
	return result, err
}

// RecoveryLost records that a recovery script did not run to its end.
func (f *Finisher) RecoveryLost(l *core.LeasedJob, why string) error {
	return f.AfterRecovery(l, &lease.Recovered{LeaseRef: l.LeaseRef, ReturnCode: workflow.ReturnCodeUnknown, Error: why})
}

// AfterRecovery continues a job after its recovery script.
func (f *Finisher) AfterRecovery(l *core.LeasedJob, r *lease.Recovered) error {
	order, err := loadRecovery(f.tx, l.JobID)
	if err != nil {
		return err
	}
	g := f.NewFacts(l)
	g.Script = &retry.ScriptEnd{
		Failed: r.Failed(), ReturnCode: r.ReturnCode, Error: r.Error, EarlierRun: order.RunID != f.Run.RunID,
		OnError: order.OnError, HoldLimit: order.HoldLimit, Rule: order.Rule, Status: order.Status,
	}
	var script *core.LeasedJob
	var e Ending
	if g.Script.Failed && !g.Script.EarlierRun {
		if script, e, err = f.failedScript(l, r, g); err != nil {
			return err
		}
	}
	d := retry.Decide(g.Facts)
	if script != nil {
		if err := f.recordRecovery(script, &e, &d.Decision, order); err != nil {
			return err
		}
	}
	p := event.JobRecoveredPayload{
		JobID: l.JobID, JobName: l.Name, RunID: f.Run.RunID, AttemptID: l.Attempt, ReturnCode: r.ReturnCode, Error: r.Error,
		Action: d.Action, Reason: d.Reason, Rule: d.Rule,
	}
	if d.Next != nil {
		if at := f.tx.After(d.Next.Wait()); at > 0 {
			p.NotBeforeMS = &at
		}
	}
	if err := f.tx.Event(f.Run.WorkflowID, string(workflow.EventJobRecovered), event.SeverityInfo, p); err != nil {
		return err
	}
	l.Recovering, f.Changed = false, true
	cause := workflow.Cause{Kind: order.Cause, ReturnCode: order.ReturnCode}
	n, err := f.Continue(l, g, &d, cause)
	if err != nil {
		return err
	}
	if l.Status = d.Status; l.Status == workflow.Ready {
		return readyAfterRecovery(f.tx, f.Run, l.JobID, n)
	}
	f.Changes = append(f.Changes, Change{Job: l.JobID, Op: workflow.OpRecovered, From: workflow.Pending, To: l.Status, Next: n})
	return f.AnnounceStatus(l, cause, d.Reason)
}

// failedScript gathers the facts about a failed recovery script. It returns the script as a
// lease, and how it ended.
func (f *Finisher) failedScript(l *core.LeasedJob, r *lease.Recovered, g *Facts) (*core.LeasedJob, Ending, error) {
	var err error
	if g.Policies, err = f.Policies(l.JobID, l.RunnerID, &g.History); err != nil {
		return nil, Ending{}, err
	}
	host, err := LoadHolder(f.tx, l.RunnerID)
	if err != nil {
		return nil, Ending{}, err
	}
	evidence := recoveryEvidence(r)
	e := Ending{Cause: failure.Classify(evidence, workflow.ReturnCodes{}, nil), Evidence: &evidence, EndMS: f.tx.NowMS, Host: host}
	script := *l
	script.StartMS = sql.NullInt64{Int64: r.StartedMS, Valid: r.StartedMS > 0}
	if r.EndedMS > 0 {
		e.EndMS = r.EndedMS
	}
	g.Failure = e.failure(&script)
	return &script, e, f.complete(l, g)
}

// recordRecovery records a failed recovery script, and the decision.
func (f *Finisher) recordRecovery(l *core.LeasedJob, e *Ending, d *workflow.Decision, order *RecoveryOrder) error {
	evidence, err := json.Marshal(e.Evidence)
	if err != nil {
		return fmt.Errorf("write the evidence of the recovery of job %d: %w", l.JobID, err)
	}
	c := &e.Cause
	_, err = f.tx.Exec(`INSERT INTO failed_recovery (job_id, run_id, attempt_id, workflow_id, hostname, start_ms, end_ms, return_code, cause, confidence,
			cause_text, evidence, on_error, action, reason, rule, policy_hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		l.JobID, f.Run.RunID, l.Attempt, f.Run.WorkflowID, e.Host.Hostname, l.StartMS, e.EndMS, c.ReturnCode, string(c.Kind), string(c.Confidence),
		c.Text, string(evidence), string(order.OnError), string(d.Action), d.Reason, d.Rule, d.PolicyHash)
	return sqlite.Wrap(err, "record the recovery of job %d", l.JobID)
}
