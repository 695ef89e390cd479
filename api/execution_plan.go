package api

import "github.com/torc-slurm/torc-slurm/workflow/graph"

// ExecutionPlan is the order in which the jobs of a workflow, or of a specification,
// become ready.
type ExecutionPlan struct {
	WorkflowID   *int64            `json:"workflow_id,omitempty"` // absent for a specification
	WorkflowName string            `json:"workflow_name"`
	TotalJobs    int               `json:"total_jobs"`
	Events       []graph.PlanEvent `json:"events"`
}
