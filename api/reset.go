package api

import "github.com/torc-slurm/torc-slurm/workflow"

// ResetJobsRequest requests that jobs of a workflow run again: those with the ids, else
// those in the statuses, else those whose latest result has the return code.
type ResetJobsRequest struct {
	DryRun     bool                 `json:"dry_run,omitempty"` // only propose
	JobIDs     []int64              `json:"job_ids,omitempty"`
	Statuses   []workflow.JobStatus `json:"statuses,omitempty"`
	ReturnCode *int64               `json:"return_code,omitempty"`
	// Force resets jobs even while runners are active or jobs are running.
	Force bool `json:"force,omitempty"`
	// RunID and Expected are copied from a proposal. If they are set, the request is
	// rejected if the workflow has changed since.
	RunID    *int64        `json:"run_id,omitempty"`
	Expected []ExpectedJob `json:"expected,omitempty"`
	// Reinitialize starts a run with the jobs afterwards, if all of them were reset.
	Reinitialize bool `json:"reinitialize,omitempty"`
}

// JobReset says which jobs were reset, or would be.
type JobReset struct {
	WorkflowID int64      `json:"workflow_id"`
	RunID      int64      `json:"run_id"` // before
	DryRun     bool       `json:"dry_run"`
	Jobs       []ResetJob `json:"jobs"`       // the chosen ones, as they were
	Downstream []ResetJob `json:"downstream"` // their dependants, which a reinitialization resets
	// Obstacle is why the request is rejected unless it is forced; absent if there is no
	// reason.
	Obstacle *Obstacle `json:"obstacle,omitempty"`
	// CPUSeconds is the most that all these jobs may use, by the required CPUs and
	// runtime.
	CPUSeconds        int64          `json:"cpu_seconds"`
	Reset             []int64        `json:"reset"`    // that were reset
	Failures          []ResetFailure `json:"failures"` // that cannot be reset
	Reinitialized     bool           `json:"reinitialized"`
	ReinitializeError string         `json:"reinitialize_error,omitempty"`
}

// ResetJob is a reset job, with its previous status.
type ResetJob struct {
	JobID  int64              `json:"job_id"`
	Name   string             `json:"name"`
	Status workflow.JobStatus `json:"status"`
}

// ResetFailure is a job that could not be reset.
type ResetFailure struct {
	JobID int64  `json:"job_id"`
	Error string `json:"error"`
}

// Obstacle is a reason against a change, and what to do about it.
type Obstacle struct {
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// ResetWorkflowRequest requests that the jobs of a workflow run again.
type ResetWorkflowRequest struct {
	DryRun       bool   `json:"dry_run,omitempty"`      // only propose
	FailedOnly   bool   `json:"failed_only,omitempty"`  // only jobs that did not succeed, and what depends on them
	Force        bool   `json:"force,omitempty"`        // even while jobs are running
	Reinitialize bool   `json:"reinitialize,omitempty"` // initialize the jobs afterwards
	RunID        *int64 `json:"run_id,omitempty"`       // rejected if another run has started
	// Changed resets only the jobs whose inputs have changed since the last run, or whose
	// outputs are gone, and what depends on them.
	Changed bool `json:"changed,omitempty"`
	// Files are the present modification times of files of the workflow. They are recorded.
	Files []ModifiedFile `json:"files,omitempty"`
}

// ModifiedFile says when a file was last modified.
type ModifiedFile struct {
	FileID  int64    `json:"file_id"`
	ModTime *float64 `json:"st_mtime,omitempty"` // seconds since the epoch; absent if it does not exist
}

// WorkflowReset is the run that was started, or would be.
type WorkflowReset struct {
	WorkflowID int64 `json:"workflow_id"`
	DryRun     bool  `json:"dry_run"`
	RunID      int64 `json:"run_id"` // the new one
	Jobs       int64 `json:"jobs"`   // that were reset, without their dependants
	// CPUSeconds is, in a dry run, the most that the jobs and their dependants may use, by
	// the required CPUs and runtime; 0 otherwise.
	CPUSeconds  int64 `json:"cpu_seconds"`
	Initialized bool  `json:"initialized"`
	// JobNames and ChangedFiles are of a reset of what has changed: the jobs, and the paths of
	// the files.
	JobNames     []string `json:"job_names,omitempty"`
	ChangedFiles []string `json:"changed_files,omitempty"`
}
