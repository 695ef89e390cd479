package api

import "github.com/torc-slurm/torc-slurm/workflow"

// CancellationProposal is what the cancellation of a workflow would end.
type CancellationProposal struct {
	WorkflowID int64 `json:"workflow_id"`
	RunID      int64 `json:"run_id"`
	IsCanceled bool  `json:"is_canceled"` // it is canceled already: nothing would change
	// Jobs are those that runners hold: they would be ended and become canceled.
	Jobs []LiveJob `json:"jobs"`
	// NotStarted is how many jobs would keep their status and not start.
	NotStarted int64 `json:"not_started"`
	// Allocations are those that Slurm would be told to cancel.
	Allocations []LiveAllocation `json:"allocations"`
	// CPUSeconds is what the jobs have used so far, by the CPUs that they require: work
	// that is lost unless they save it.
	CPUSeconds int64 `json:"cpu_seconds"`
}

// AllocationCancellation is what the cancellation of an allocation would end.
type AllocationCancellation struct {
	AllocationID int64  `json:"allocation_id"`
	WorkflowID   int64  `json:"workflow_id"`
	SlurmJobID   int64  `json:"slurm_job_id,omitempty"` // 0: sbatch has not answered
	State        string `json:"state"`
	IsCanceling  bool   `json:"is_canceling"` // its cancellation was requested before: nothing would change
	// Jobs are those that its runners hold: they would be preempted, and run again where
	// their policy retries that.
	Jobs []LiveJob `json:"jobs"`
	// CPUSeconds is what the jobs have used so far, by the CPUs that they require: work
	// that is lost unless they save it.
	CPUSeconds int64 `json:"cpu_seconds"`
	// NodeSecondsLeft is how long the allocation could still hold its nodes, summed over
	// them; 0 if it has no time limit.
	NodeSecondsLeft int64 `json:"node_seconds_left"`
}

// LiveJob is a job that a runner holds.
type LiveJob struct {
	JobID     int64              `json:"job_id"`
	Name      string             `json:"name"`
	Status    workflow.JobStatus `json:"status"`
	StartTime *string            `json:"start_time,omitempty"` // RFC 3339; absent until it runs
}

// LiveAllocation is an allocation that has not ended.
type LiveAllocation struct {
	ID         int64  `json:"id"`
	SlurmJobID int64  `json:"slurm_job_id,omitempty"` // 0: sbatch has not answered
	State      string `json:"state"`
}
