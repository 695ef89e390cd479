package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// alert tells people of something in a run: it is recorded and counted, is an
// event, and goes into the outbox for whoever is to be told. Kinds that are only
// raised on request are left out where nobody has asked for them.
func (tx *Tx) alert(r *run, a workflow.Alert) error {
	policy, err := r.policy()
	if err != nil {
		return err
	}
	targets := policy.Notify.Or(tx.w.notify).Targets(a.Kind)
	if a.Kind.OnRequest() && len(targets) == 0 {
		return nil
	}
	a.WorkflowID, a.RunID = r.workflowID, r.runID
	a = a.Bounded()
	text, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("alert about workflow %d: %w", r.workflowID, err)
	}
	id, err := tx.insert(`INSERT INTO alert (workflow_id, run_id, job_id, kind, at_ms, alert) VALUES (?, ?, ?, ?, ?, ?)`,
		a.WorkflowID, a.RunID, a.JobID, string(a.Kind), tx.nowMS, string(text))
	if err != nil {
		return fmt.Errorf("record an alert about workflow %d: %w", r.workflowID, err)
	}
	if _, err := tx.exec(`INSERT INTO alert_count (kind, n) VALUES (?, 1) ON CONFLICT (kind) DO UPDATE SET n = n + 1`, string(a.Kind)); err != nil {
		return fmt.Errorf("count an alert about workflow %d: %w", r.workflowID, err)
	}
	for _, t := range targets {
		_, err := tx.insert(`INSERT INTO notification (alert_id, workflow_id, way, address, state, at_ms, due_ms) VALUES (?1, ?2, ?3, ?4, 'pending', ?5, ?5)`,
			id, a.WorkflowID, string(t.Way), t.Address, tx.nowMS)
		if err != nil {
			return fmt.Errorf("notify of an alert about workflow %d: %w", r.workflowID, err)
		}
		tx.changes.Notifications = true
	}
	severity := workflow.SeverityWarning
	if a.Kind == workflow.AlertTest {
		severity = workflow.SeverityInfo
	}
	return tx.event(r.workflowID, string(workflow.EventAlert), severity, workflow.AlertPayload{Category: workflow.CategoryAlert, AlertID: id, Alert: a})
}

// TestAlert raises an alert that says nothing, so that somebody sees whether its
// messages arrive, and returns its id.
func (s *Store) TestAlert(_ context.Context, workflowID int64, user string) (id int64, err error) {
	err = s.writer.do("test alerts", func(tx *Tx) error {
		r, err := tx.run(workflowID)
		if err != nil {
			return err
		}
		policy, err := r.policy()
		if err != nil {
			return err
		}
		if len(policy.Notify.Or(tx.w.notify).Targets(workflow.AlertTest)) == 0 {
			return workflow.Errorf(workflow.CodeConflict, "nobody is told of alerts of workflow %d", workflowID).
				WithHint("give the workflow notify: {mail: …} or {webhook: …}, or the daemon a default in [server.notify] of its configuration")
		}
		if id, err = tx.nextID("alert"); err != nil {
			return fmt.Errorf("number an alert: %w", err)
		}
		return tx.alert(r, workflow.Alert{Kind: workflow.AlertTest, Subject: "this is a test", Text: user + " tries whether messages about alerts arrive."})
	})
	return id, err
}

// AlertCounts returns how many alerts of each kind there ever were.
func (s *Store) AlertCounts(ctx context.Context) (map[workflow.AlertKind]int64, error) {
	rows, err := s.read.QueryContext(ctx, `SELECT kind, n FROM alert_count`)
	if err != nil {
		return nil, fmt.Errorf("count alerts: %w", err)
	}
	defer rows.Close()
	counts := map[workflow.AlertKind]int64{}
	for rows.Next() {
		var kind workflow.AlertKind
		var n int64
		if err := rows.Scan(&kind, &n); err != nil {
			return nil, fmt.Errorf("count alerts: %w", err)
		}
		counts[kind] = n
	}
	return counts, rows.Err()
}

// Alerts returns a page of the alerts of a workflow, of all if the id is 0, by
// id, with what became of their messages.
func (s *Store) Alerts(ctx context.Context, workflowID int64, page Page) ([]workflow.RaisedAlert, int64, error) {
	if workflowID != 0 {
		if err := s.requireWorkflow(ctx, workflowID); err != nil {
			return nil, 0, err
		}
	}
	f := where(`workflow_id IN (SELECT id FROM workflow WHERE is_hidden = 0)`)
	if workflowID != 0 {
		f.add(`workflow_id = ?`, workflowID)
	}
	return readList(ctx, s.read, list{columns: alertColumns, from: "alert", filter: f, id: "id", page: page}, scanAlert)
}

// recentAlerts returns the latest few alerts of a workflow or a job: those that meet a
// condition on ?1, the id.
func (l *looker) recentAlerts(condition string, id int64) (a workflow.RecentAlerts, err error) {
	if err := l.row(`SELECT COUNT(*) FROM alert WHERE `+condition, []any{id}, &a.Count); err != nil || a.Count == 0 {
		return a, err
	}
	a.Latest, err = look(l, `SELECT `+alertColumns+` FROM alert WHERE `+condition+` ORDER BY id DESC LIMIT ?2`, []any{id, recentAlerts}, scanAlert)
	return a, err
}

// recentAlerts is how many alerts an explanation lists.
const recentAlerts = 3

const alertColumns = `id, at_ms, alert, (SELECT json_group_array(json_object('way', n.way, 'address', n.address, 'state', n.state, 'tries', n.tries,
	'at_ms', n.at_ms, 'error', n.error)) FROM notification n WHERE n.alert_id = alert.id)`

func scanAlert(r rowScanner) (a workflow.RaisedAlert, err error) {
	var text, deliveries string
	if err := r.Scan(&a.ID, &a.AtMS, &text, &deliveries); err != nil {
		return a, err
	}
	if err := json.Unmarshal([]byte(text), &a.Alert); err != nil {
		return a, fmt.Errorf("read alert %d: %w", a.ID, err)
	}
	if err := json.Unmarshal([]byte(deliveries), &a.Deliveries); err != nil {
		return a, fmt.Errorf("read the messages of alert %d: %w", a.ID, err)
	}
	for i := range a.Deliveries {
		d := &a.Deliveries[i]
		d.Address = workflow.Target{Way: d.Way, Address: d.Address}.Shown()
	}
	return a, nil
}
