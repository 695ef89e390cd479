package workflow

import (
	"fmt"
	"strings"
	"time"
)

// How messages about alerts are sent.
const (
	MessageInterval = 10 * time.Minute // between messages about one workflow to one address; alerts in between go into the next message
	MessageTries    = 8
)

// MessageDelay returns how long to wait after the n-th try before the next one.
func MessageDelay(n int64) time.Duration {
	return min(time.Minute<<min(max(n-1, 0), 10), time.Hour)
}

// Message is one message about alerts of a workflow; a webhook receives it as JSON. It may
// arrive twice, with the same id.
type Message struct {
	ID           string        `json:"id"`
	WorkflowID   int64         `json:"workflow_id"`
	WorkflowName string        `json:"workflow_name"`
	Subject      string        `json:"subject"`
	Text         string        `json:"text"`
	Alerts       []RaisedAlert `json:"alerts"` // the first ones
	AlertCount   int64         `json:"alert_count"`
}

// MessageAlerts is the maximum number of alerts that a message describes.
const MessageAlerts = 20

// Write sets the subject and the text from the alerts.
func (m *Message) Write() {
	first := "nothing"
	if len(m.Alerts) > 0 {
		first = m.Alerts[0].Subject
	}
	m.Subject = fmt.Sprintf("torc-slurm: workflow %d %s: %s", m.WorkflowID, m.WorkflowName, first)
	if m.AlertCount > 1 {
		m.Subject = fmt.Sprintf("torc-slurm: workflow %d %s: %d alerts, first: %s", m.WorkflowID, m.WorkflowName, m.AlertCount, first)
	}
	m.Subject = shortened(OneLine(m.Subject), maxAlertSubject)
	var b strings.Builder
	for i := range m.Alerts {
		a := &m.Alerts[i]
		fmt.Fprintf(&b, "%s %s: %s\n", time.UnixMilli(a.AtMS).UTC().Format(time.RFC3339), a.Kind, a.Subject)
		for line := range strings.Lines(a.Text) {
			fmt.Fprintf(&b, "  %s\n", OneLine(strings.TrimSuffix(line, "\n")))
		}
		b.WriteByte('\n')
	}
	if more := m.AlertCount - int64(len(m.Alerts)); more > 0 {
		fmt.Fprintf(&b, "And %s.\n\n", CountOf(more, "more alert", "more alerts"))
	}
	fmt.Fprintf(&b, "torc-slurm why -w %d\n", m.WorkflowID)
	m.Text = b.String()
}
