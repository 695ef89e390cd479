package api

// SlurmStats is the accounting record of an attempt.
type SlurmStats struct {
	ID                *int64   `json:"id,omitempty"`
	WorkflowID        int64    `json:"workflow_id"`
	JobID             int64    `json:"job_id"`
	RunID             int64    `json:"run_id"`
	AttemptID         int64    `json:"attempt_id"`
	SlurmJobID        *string  `json:"slurm_job_id,omitempty"`
	MaxRSSBytes       *int64   `json:"max_rss_bytes,omitempty"`
	MaxVMSizeBytes    *int64   `json:"max_vm_size_bytes,omitempty"`
	MaxDiskReadBytes  *int64   `json:"max_disk_read_bytes,omitempty"`
	MaxDiskWriteBytes *int64   `json:"max_disk_write_bytes,omitempty"`
	AveCPUSeconds     *float64 `json:"ave_cpu_seconds,omitempty"`
	NodeList          *string  `json:"node_list,omitempty"`
}

// StepAccounts are the accounting records of attempts of a runner that were steps. Their
// workflow is the runner's.
type StepAccounts struct {
	Steps []SlurmStats `json:"steps"`
}
