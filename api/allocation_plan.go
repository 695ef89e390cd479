package api

import "github.com/torc-slurm/torc-slurm/workflow/compute"

// AllocationPlanRequest asks which allocations suit the jobs of a workflow that have not
// begun.
type AllocationPlanRequest struct {
	SchedulerOptions
	Offline     bool `json:"offline,omitempty"`      // ask Slurm nothing
	NoEstimates bool `json:"no_estimates,omitempty"` // do not ask Slurm when allocations would start
}

// AllocationPlan says which allocations suit the jobs of a workflow that have not begun,
// why these, and what they cost.
type AllocationPlan struct {
	WorkflowID int64 `json:"workflow_id"`
	compute.AllocationPlan
}
