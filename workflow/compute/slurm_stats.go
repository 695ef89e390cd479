package compute

// SlurmStats is what Slurm's accounting has about the step of an attempt.
type SlurmStats struct {
	ID                int64
	WorkflowID        int64
	JobID             int64
	RunID             int64
	AttemptID         int64
	SlurmJobID        *string
	MaxRSSBytes       *int64
	MaxVMSizeBytes    *int64
	MaxDiskReadBytes  *int64
	MaxDiskWriteBytes *int64
	AveCPUSeconds     *float64
	NodeList          *string
}

// SlurmJobCorrelation says that a job ran in an allocation.
type SlurmJobCorrelation struct {
	SlurmJobID string `json:"slurm_job_id"`
	JobID      int64  `json:"job_id"`
	JobName    string `json:"job_name"`
}
