package api

import "github.com/torc-slurm/torc-slurm/workflow"

// BreakerList is circuit breakers that have opened.
type BreakerList struct {
	Breakers []workflow.BreakerTrip `json:"breakers"` // by id
}

// BreakerReset says which open circuit breakers are to be closed: all that is
// given must hold.
type BreakerReset struct {
	ID         int64  `json:"id,omitempty"`
	WorkflowID int64  `json:"workflow_id,omitempty"`
	Node       string `json:"node,omitempty"`
	All        bool   `json:"all,omitempty"` // without any of the others
}
