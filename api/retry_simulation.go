package api

import "github.com/torc-slurm/torc-slurm/workflow"

// RetrySimulationRequest asks what retry policies would have decided about recorded
// attempts: those of a workflow, or of jobs with an attempt that ended since a time.
type RetrySimulationRequest struct {
	// Policies replace those of the jobs and workflows, in this order.
	Policies   []workflow.RetryPolicy `json:"policies"`
	WorkflowID *int64                 `json:"workflow_id,omitempty"`
	SinceMS    *int64                 `json:"since_ms,omitempty"` // since the epoch
}
