package api

import "github.com/torc-slurm/torc-slurm/workflow/compute"

// AllocationPlanRequest asks which allocations suit the jobs of a workflow that have not
// begun. For a workflow that does not exist, it is the first line of a request to
// /workflows/definition/allocation_plan; the lines of the definition follow.
type AllocationPlanRequest struct {
	SchedulerOptions
	Offline     bool `json:"offline,omitempty"`      // ask Slurm nothing
	NoEstimates bool `json:"no_estimates,omitempty"` // do not ask Slurm when allocations would start
	// Prefer is what a submission would prefer: time, cost or balanced; empty: what the latest
	// submission or the action says.
	Prefer string `json:"prefer,omitempty"`
}

// AllocationPlan says which allocations suit the jobs of a workflow that have not begun,
// why these, and what they cost.
type AllocationPlan struct {
	WorkflowID int64 `json:"workflow_id"` // 0 for a definition
	compute.AllocationPlan
	// Choices are the sets of allocations that the daemon compares for the ready jobs, the
	// chosen one first. There are none without ready jobs, offline, and without a forecast;
	// NoForecast is why there is none.
	Choices    []AllocationChoice `json:"choices"`
	NoForecast string             `json:"no_forecast,omitempty"`
}
