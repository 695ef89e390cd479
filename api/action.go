package api

import "github.com/torc-slurm/torc-slurm/workflow/action"

// Action is something that is done at a point of a workflow's run.
type Action struct {
	ID               *int64  `json:"id,omitempty"`
	WorkflowID       int64   `json:"workflow_id"`
	TriggerType      string  `json:"trigger_type"`
	ActionType       string  `json:"action_type"`
	ActionConfig     Object  `json:"action_config"`
	JobIDs           []int64 `json:"job_ids,omitempty"`
	TriggerCount     *int64  `json:"trigger_count,omitempty"`
	RequiredTriggers *int64  `json:"required_triggers,omitempty"`
	Executed         *bool   `json:"executed,omitempty"`
	ExecutedAt       *string `json:"executed_at,omitempty"` // RFC 3339
	ExecutedBy       *int64  `json:"executed_by,omitempty"` // compute node
	Persistent       *bool   `json:"persistent,omitempty"`
	IsRecovery       *bool   `json:"is_recovery,omitempty"`
	// Status is not in torc: automatic, waiting, pending or executed.
	Status action.Status `json:"status,omitempty"`
}

// ClaimActionRequest is the body of POST …/actions/{action_id}/claim.
type ClaimActionRequest struct {
	ComputeNodeID *int64 `json:"compute_node_id,omitempty"`
}

// ClaimAction is its answer.
type ClaimAction struct {
	ActionID int64 `json:"action_id"`
	Success  bool  `json:"success"`
}
