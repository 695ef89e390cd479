package workflow

import (
	"encoding/json"
	"slices"
)

// Severity of an event.
type Severity string

// The severities, rising.
const (
	SeverityDebug   Severity = "debug"
	SeverityInfo    Severity = "info"
	SeverityWarning Severity = "warning"
	SeverityError   Severity = "error"
)

var severities = [...]Severity{SeverityDebug, SeverityInfo, SeverityWarning, SeverityError}

// Level is the severity as a number, which grows with it: 0 is debug. An
// unknown severity counts as info.
func (s Severity) Level() int {
	if i := slices.Index(severities[:], s); i >= 0 {
		return i
	}
	return SeverityInfo.Level()
}

// SeverityOf is the severity of a level.
func SeverityOf(level int) Severity {
	if level < 0 || level >= len(severities) {
		return SeverityInfo
	}
	return severities[level]
}

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
