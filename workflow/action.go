package workflow

import "encoding/json"

// ActionRecord is something to do at a point of a workflow's life.
type ActionRecord struct {
	ID               int64
	WorkflowID       int64
	TriggerType      string
	ActionType       string
	Config           json.RawMessage // an object
	JobIDs           []int64         // nil: not given
	TriggerCount     int64
	RequiredTriggers int64
	Executed         bool
	ExecutedAt       *string // RFC 3339
	ExecutedBy       *int64  // compute node
	Persistent       bool
	IsRecovery       bool
}
