package api

import "github.com/torc-slurm/torc-slurm/workflow"

// ResetJobsRequest asks for jobs of a workflow to run again: those of the ids, else those
// in the statuses, else those whose latest result has the return code.
type ResetJobsRequest struct {
	DryRun     bool                 `json:"dry_run,omitempty"` // only propose
	JobIDs     []int64              `json:"job_ids,omitempty"`
	Statuses   []workflow.JobStatus `json:"statuses,omitempty"`
	ReturnCode *int64               `json:"return_code,omitempty"`
	// Force resets jobs although runners are at work, or jobs are running.
	Force bool `json:"force,omitempty"`
	// RunID and Expected are as a proposal has them; if they are given, the request is
	// refused where the workflow has gone on since.
	RunID    *int64        `json:"run_id,omitempty"`
	Expected []ExpectedJob `json:"expected,omitempty"`
	// Reinitialize begins a run with the jobs afterwards, if all of them were reset.
	Reinitialize bool `json:"reinitialize,omitempty"`
}

// JobReset is which jobs were reset, or would be.
type JobReset struct {
	WorkflowID int64      `json:"workflow_id"`
	RunID      int64      `json:"run_id"` // before
	DryRun     bool       `json:"dry_run"`
	Jobs       []ResetJob `json:"jobs"`       // the chosen ones, as they were
	Downstream []ResetJob `json:"downstream"` // what depends on them; a reinitialization resets it
	// Obstacle is why this is refused unless it is forced; absent: nothing is in the way.
	Obstacle *Obstacle `json:"obstacle,omitempty"`
	// CPUSeconds is what all of these jobs may use at most, by the CPUs and the runtime
	// that they require.
	CPUSeconds        int64          `json:"cpu_seconds"`
	Reset             []int64        `json:"reset"`    // that were reset
	Failures          []ResetFailure `json:"failures"` // that cannot be reset
	Reinitialized     bool           `json:"reinitialized"`
	ReinitializeError string         `json:"reinitialize_error,omitempty"`
}

// ResetJob is a job that is reset, with its status before.
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

// Obstacle is something in the way of a change, and what to do about it.
type Obstacle struct {
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// ResetWorkflowRequest asks for the jobs of a workflow to run again.
type ResetWorkflowRequest struct {
	DryRun       bool   `json:"dry_run,omitempty"`      // only propose
	FailedOnly   bool   `json:"failed_only,omitempty"`  // only jobs that did not succeed, and what depends on them
	Force        bool   `json:"force,omitempty"`        // although something is running
	Reinitialize bool   `json:"reinitialize,omitempty"` // initialize the jobs afterwards
	RunID        *int64 `json:"run_id,omitempty"`       // refused if another run has begun
}

// WorkflowReset is which run of a workflow was begun, or would be.
type WorkflowReset struct {
	WorkflowID int64 `json:"workflow_id"`
	DryRun     bool  `json:"dry_run"`
	RunID      int64 `json:"run_id"` // the new one
	Jobs       int64 `json:"jobs"`   // that were reset, without what depends on them
	// CPUSeconds is, in a dry run, what the jobs may use at most, by the CPUs and the
	// runtime that they require, with what depends on them; 0 otherwise.
	CPUSeconds  int64 `json:"cpu_seconds"`
	Initialized bool  `json:"initialized"`
}
