package view

import (
	"encoding/json"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/explain"
)

// recentAlerts returns the latest alerts that meet a condition on ?1, the id of a workflow
// or a job.
func (l *factReader) recentAlerts(condition string, id int64) (a explain.RecentAlerts, err error) {
	if err := l.row(`SELECT COUNT(*) FROM alert WHERE `+condition, []any{id}, &a.Count); err != nil || a.Count == 0 {
		return a, err
	}
	a.Latest, err = selectFacts(l, `SELECT `+AlertColumns+` FROM alert WHERE `+condition+` ORDER BY id DESC LIMIT ?2`, []any{id, recentAlerts}, ScanAlert)
	return a, err
}

// recentAlerts limits the alerts in an explanation.
const recentAlerts = 3

// AlertColumns are the columns that ScanAlert reads.
const AlertColumns = `id, at_ms, alert, (SELECT json_group_array(json_object('way', n.way, 'address', n.address, 'state', n.state, 'tries', n.tries,
	'at_ms', n.at_ms, 'error', n.error)) FROM notification n WHERE n.alert_id = alert.id)`

// ScanAlert reads a row of AlertColumns.
func ScanAlert(r sqlite.Scanner) (a workflow.RaisedAlert, err error) {
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
		d.Address = workflow.Target{Channel: d.Channel, Address: d.Address}.Redacted()
	}
	return a, nil
}
