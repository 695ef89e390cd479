package api

import (
	"encoding/json"

	"github.com/torc-slurm/torc-slurm/workflow/audit"
)

// Event is a row of a workflow's event log.
type Event struct {
	ID         *int64          `json:"id,omitempty"`
	WorkflowID int64           `json:"workflow_id"`
	Timestamp  int64           `json:"timestamp"` // milliseconds; set by the server
	Data       json.RawMessage `json:"data"`
	// Seq, EventType and Severity are not in torc, and read-only. Seq counts the events of
	// a workflow from 1, without a gap.
	Seq       *int64  `json:"seq,omitempty"`
	EventType *string `json:"event_type,omitempty"`
	Severity  *string `json:"severity,omitempty"`
}

// StreamEvent is the data of a frame of GET /workflows/{id}/events/stream.
type StreamEvent struct {
	WorkflowID int64           `json:"workflow_id"`
	Timestamp  int64           `json:"timestamp"`
	EventType  string          `json:"event_type"`
	Severity   string          `json:"severity"` // debug, info, warning, error
	Data       json.RawMessage `json:"data"`
}

// AuditList lists who changed what.
type AuditList struct {
	Entries []audit.Entry `json:"entries"` // the latest first
}
