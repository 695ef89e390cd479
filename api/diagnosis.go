package api

import (
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// Diagnosis compares the time that the live runners of a workflow have left with the
// declared runtimes of its ready jobs.
type Diagnosis struct {
	WorkflowID              int64                  `json:"workflow_id"`
	ActiveAllocations       int                    `json:"active_allocations"`
	AllocationsWithWalltime int                    `json:"allocations_with_walltime"`
	AllocationsUnlimited    int                    `json:"allocations_unlimited"`
	HasUnlimited            bool                   `json:"has_unlimited_allocation"`
	ReadyJobs               int64                  `json:"ready_jobs"`
	ReadyJobsWithRuntime    int64                  `json:"ready_jobs_with_runtime"`
	Remaining               *placement.SecondsSpan `json:"allocation_remaining,omitempty"`
	Runtime                 *placement.SecondsSpan `json:"ready_job_runtime,omitempty"`
	BlockedJobs             int64                  `json:"runtime_blocked_jobs"`
	TooShortForLongest      int                    `json:"allocations_too_short_for_longest"`
	Blocked                 bool                   `json:"runtime_blocked"`
}
