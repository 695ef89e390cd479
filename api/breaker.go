package api

import "github.com/torc-slurm/torc-slurm/workflow"

// BreakerList lists circuit breakers that have opened.
type BreakerList struct {
	Breakers []workflow.BreakerTrip `json:"breakers"` // by id
}

// BreakerReset selects the open circuit breakers to close; all given fields must match.
type BreakerReset struct {
	ID         int64  `json:"id,omitempty"`
	WorkflowID int64  `json:"workflow_id,omitempty"`
	Node       string `json:"node,omitempty"`
	All        bool   `json:"all,omitempty"` // excludes the others
}
