package workflow

import "encoding/json"

// Severity of an event.
type Severity string

// The severities, rising.
const (
	SeverityDebug   Severity = "debug"
	SeverityInfo    Severity = "info"
	SeverityWarning Severity = "warning"
	SeverityError   Severity = "error"
)

// EventType names what an event reports.
type EventType string

// Event is one entry of a workflow's log. Seq has no gap within a workflow.
type Event struct {
	ID          int64
	WorkflowID  int64
	Seq         int64
	TimestampMS int64
	Type        EventType
	Severity    Severity
	Data        json.RawMessage
}
