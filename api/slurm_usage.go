package api

import "github.com/torc-slurm/torc-slurm/workflow/compute"

// SlurmUsage is how long the allocations of a workflow had nodes and CPUs, used or not,
// according to Slurm's accounting.
type SlurmUsage struct {
	WorkflowID           int64    `json:"workflow_id"`
	TotalSlurmJobs       int      `json:"total_slurm_jobs"`
	TotalNodes           int      `json:"total_nodes"`
	TotalNodeTime        string   `json:"total_node_time"`
	TotalNodeTimeSeconds int64    `json:"total_node_time_seconds"`
	TotalCPUTime         string   `json:"total_cpu_time"`
	TotalCPUTimeSeconds  int64    `json:"total_cpu_time_seconds"`
	Errors               []string `json:"errors"`
	UnknownNodeCount     int      `json:"unknown_node_count_allocations,omitempty"`
	// Forecast compares what was expected of the allocations with what happened; absent if none was
	// requested with a forecast.
	Forecast *compute.Calibration `json:"forecast,omitempty"`
}

// SlurmAccounting has Slurm's accounting records of a workflow's allocations and their steps.
type SlurmAccounting struct {
	WorkflowID     int64         `json:"workflow_id"`
	TotalSlurmJobs int           `json:"total_slurm_jobs"`
	Records        []SlurmRecord `json:"records"`
	Errors         []string      `json:"errors"` // Slurm jobs without a record
}

// SlurmRecord is the accounting record of a Slurm job, or of a step of it.
type SlurmRecord struct {
	SlurmJobID string `json:"slurm_job_id"`
	JobStep    string `json:"job_step"`
	State      string `json:"state"`
	ExitCode   string `json:"exit_code"`
	Elapsed    string `json:"elapsed"`
	MaxRSS     string `json:"max_rss,omitempty"`
	CPUTime    string `json:"cpu_time"`
	Nodes      string `json:"nodes"`
}
