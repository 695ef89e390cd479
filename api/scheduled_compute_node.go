package api

// ScheduledComputeNode is a requested allocation.
type ScheduledComputeNode struct {
	ID                *int64 `json:"id,omitempty"`
	WorkflowID        int64  `json:"workflow_id"`
	SchedulerID       int64  `json:"scheduler_id"` // the Slurm job id
	SchedulerConfigID int64  `json:"scheduler_config_id"`
	SchedulerType     string `json:"scheduler_type"`
	Status            string `json:"status"` // pending, active, complete
}
