package core

import (
	"encoding/json"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/event"
)

// RaiseAlert records, counts and logs an alert of a run, and queues its notifications.
// Kinds that are raised only on request are dropped if nobody requested them.
func RaiseAlert(tx *Tx, r *view.Run, a workflow.Alert) error {
	policy, err := r.Policy()
	if err != nil {
		return err
	}
	targets := policy.Notify.WithDefaults(tx.Shared.Notify).Targets(a.Kind)
	if a.Kind.IsOptIn() && len(targets) == 0 {
		return nil
	}
	a.WorkflowID, a.RunID = r.WorkflowID, r.RunID
	a = a.Truncated()
	text, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("alert about workflow %d: %w", r.WorkflowID, err)
	}
	id, err := tx.Insert(`INSERT INTO alert (workflow_id, run_id, job_id, kind, at_ms, alert) VALUES (?, ?, ?, ?, ?, ?)`,
		a.WorkflowID, a.RunID, a.JobID, string(a.Kind), tx.NowMS, string(text))
	if err != nil {
		return fmt.Errorf("record an alert about workflow %d: %w", r.WorkflowID, err)
	}
	if _, err := tx.Exec(`INSERT INTO alert_count (kind, n) VALUES (?, 1) ON CONFLICT (kind) DO UPDATE SET n = n + 1`, string(a.Kind)); err != nil {
		return fmt.Errorf("count an alert about workflow %d: %w", r.WorkflowID, err)
	}
	for _, t := range targets {
		_, err := tx.Insert(`INSERT INTO notification (alert_id, workflow_id, way, address, state, at_ms, due_ms) VALUES (?1, ?2, ?3, ?4, 'pending', ?5, ?5)`,
			id, a.WorkflowID, string(t.Channel), t.Address, tx.NowMS)
		if err != nil {
			return fmt.Errorf("notify of an alert about workflow %d: %w", r.WorkflowID, err)
		}
		tx.Changes.Notifications = true
	}
	severity := event.SeverityWarning
	if a.Kind.IsGood() {
		severity = event.SeverityInfo
	}
	return tx.Event(r.WorkflowID, string(workflow.EventAlert), severity, workflow.AlertPayload{Category: event.CategoryAlert, AlertID: id, Alert: a})
}
