package api

import "github.com/torc-slurm/torc-slurm/workflow"

// Result is how an attempt ended, as for torc's clients.
type Result struct {
	ID              *int64             `json:"id,omitempty"`
	JobID           int64              `json:"job_id"`
	WorkflowID      int64              `json:"workflow_id"`
	RunID           int64              `json:"run_id"`
	AttemptID       *int64             `json:"attempt_id,omitempty"` // default 1
	ComputeNodeID   int64              `json:"compute_node_id"`
	ReturnCode      int64              `json:"return_code"`
	ExecTimeMinutes float64            `json:"exec_time_minutes"`
	CompletionTime  string             `json:"completion_time"` // kept as sent
	Status          workflow.JobStatus `json:"status"`
	PeakMemoryBytes *int64             `json:"peak_memory_bytes,omitempty"`
	AvgMemoryBytes  *int64             `json:"avg_memory_bytes,omitempty"`
	PeakCPUPercent  *float64           `json:"peak_cpu_percent,omitempty"`
	AvgCPUPercent   *float64           `json:"avg_cpu_percent,omitempty"`
	JobName         *string            `json:"job_name,omitempty"` // read-only
	// Cause is why the attempt ended; not in torc, read-only.
	Cause *string `json:"cause,omitempty"`
	// CauseText is the cause as text, in lists that include attempts without a result.
	CauseText *string `json:"cause_text,omitempty"`
}
