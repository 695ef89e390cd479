package api

import "encoding/json"

// ComputeNode is a runner: a process on a node that takes jobs.
type ComputeNode struct {
	ID                *int64   `json:"id,omitempty"`
	WorkflowID        int64    `json:"workflow_id"`
	Hostname          string   `json:"hostname"`
	PID               int64    `json:"pid"`
	StartTime         string   `json:"start_time"`
	EndTime           *string  `json:"end_time,omitempty"` // of its allocation, RFC 3339
	DurationSeconds   *float64 `json:"duration_seconds,omitempty"`
	IsActive          *bool    `json:"is_active,omitempty"`
	NumCPUs           int64    `json:"num_cpus"`
	MemoryGB          float64  `json:"memory_gb"`
	NumGPUs           int64    `json:"num_gpus"`
	NumNodes          int64    `json:"num_nodes"`
	TimeLimit         *string  `json:"time_limit,omitempty"`
	SchedulerConfigID *int64   `json:"scheduler_config_id,omitempty"`
	ComputeNodeType   string   `json:"compute_node_type"` // local, slurm
	Labels            []string `json:"labels,omitempty"`
	// Scheduler is any JSON. Slurm runners store {"scheduler_id": id of the scheduled
	// compute node, "type": "slurm", "slurm_job_id": ...}.
	Scheduler       json.RawMessage `json:"scheduler,omitempty"`
	SampleCount     *int64          `json:"sample_count,omitempty"`
	PeakCPUPercent  *float64        `json:"peak_cpu_percent,omitempty"`
	AvgCPUPercent   *float64        `json:"avg_cpu_percent,omitempty"`
	PeakMemoryBytes *int64          `json:"peak_memory_bytes,omitempty"`
	AvgMemoryBytes  *int64          `json:"avg_memory_bytes,omitempty"`
}
