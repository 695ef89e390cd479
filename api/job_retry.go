package api

import "github.com/torc-slurm/torc-slurm/workflow"

// RetryJobRequest asks for another attempt of a job that did not succeed.
type RetryJobRequest struct {
	DryRun bool `json:"dry_run,omitempty"` // only say what would become of it
}

// JobRetry is which attempt a job was given, or would be.
type JobRetry struct {
	DryRun  bool               `json:"dry_run"`
	Was     workflow.JobStatus `json:"was"`     // the job's status before
	Attempt int64              `json:"attempt"` // that the job is ready for then
	Job     Job                `json:"job"`     // as it is then; in a dry run as it is now
	// CPUSeconds is what the attempt may use at most, by the CPUs and the runtime that the
	// job requires.
	CPUSeconds int64 `json:"cpu_seconds"`
}
