package api

import "github.com/torc-slurm/torc-slurm/workflow/usage"

// Efficiency is what the jobs of a workflow requested and used, by families of jobs whose names
// differ only in numbers. Core-seconds are CPUs times seconds.
type Efficiency struct {
	WorkflowID int64  `json:"workflow_id"`
	RunID      *int64 `json:"run_id,omitempty"` // nil: all runs
	usage.Efficiency
	// Allocations is the time of the allocations of all runs; absent if there were none.
	Allocations *AllocationTime `json:"allocations,omitempty"`
	// Suggested are the requirements that would fit what jobs used, where these differ.
	Suggested []SuggestedRequirements `json:"suggested"`
}

// AllocationTime is the CPU time that allocations had, and the part of it that no job had
// requested.
type AllocationTime struct {
	CoreSeconds int64   `json:"core_seconds"`
	IdleShare   float64 `json:"idle_share"` // 0 to 1
}

// SuggestedRequirements are resource requirements as they should be, in the form of a
// specification, and why.
type SuggestedRequirements struct {
	Name     string   `json:"name"`
	NumCPUs  int64    `json:"num_cpus"`
	NumGPUs  int64    `json:"num_gpus,omitempty"`
	NumNodes int64    `json:"num_nodes,omitempty"`
	Memory   string   `json:"memory"`
	Runtime  string   `json:"runtime"`
	Reasons  []string `json:"reasons"`
}
