package api

import "github.com/torc-slurm/torc-slurm/workflow"

// RetryJobRequest requests another attempt of a job that did not succeed.
type RetryJobRequest struct {
	DryRun bool `json:"dry_run,omitempty"` // only propose
}

// JobRetry is the new attempt of a job, or the proposed one.
type JobRetry struct {
	DryRun  bool               `json:"dry_run"`
	Was     workflow.JobStatus `json:"was"`     // the job's status before
	Attempt int64              `json:"attempt"` // for which the job is ready
	Job     Job                `json:"job"`     // as it is then; in a dry run as it is now
	// CPUSeconds is the most that the attempt may use, by the required CPUs and runtime.
	CPUSeconds int64 `json:"cpu_seconds"`
}
