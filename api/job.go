package api

import (
	"encoding/json"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// Job is a job in the API. A nil field was not given or does not apply.
type Job struct {
	ID         *int64 `json:"id,omitempty"`
	WorkflowID int64  `json:"workflow_id"`
	Name       string `json:"name"`
	Command    string `json:"command"`
	workflow.JobSettings
	Env                        map[string]string     `json:"env,omitempty"`
	Status                     *workflow.JobStatus   `json:"status,omitempty"`
	StartTime                  *string               `json:"start_time,omitempty"`      // RFC 3339
	ComputeNodeID              *int64                `json:"compute_node_id,omitempty"` // while it runs
	ScheduleComputeNodes       *ScheduleComputeNodes `json:"schedule_compute_nodes,omitempty"`
	CancelOnBlockingJobFailure *bool                 `json:"cancel_on_blocking_job_failure,omitempty"`
	workflow.TorcJob
	// The five lists of relations are ascending, and absent when empty. In a
	// PUT an empty list replaces what was there, an absent one keeps it.
	DependsOnJobIDs        []int64  `json:"depends_on_job_ids,omitempty"`
	InputFileIDs           []int64  `json:"input_file_ids,omitempty"`
	OutputFileIDs          []int64  `json:"output_file_ids,omitempty"`
	InputUserDataIDs       []int64  `json:"input_user_data_ids,omitempty"`
	OutputUserDataIDs      []int64  `json:"output_user_data_ids,omitempty"`
	ResourceRequirementsID *int64   `json:"resource_requirements_id,omitempty"`
	SchedulerID            *int64   `json:"scheduler_id,omitempty"`
	FailureHandlerID       *int64   `json:"failure_handler_id,omitempty"`
	AttemptID              *int64   `json:"attempt_id,omitempty"`
	Priority               *int64   `json:"priority,omitempty"`
	Origin                 *string  `json:"origin,omitempty"` // retry, spawn
	Labels                 []string `json:"labels,omitempty"`

	// JobOptions is not in torc. Its policy is set at creation; the others are read-only.
	workflow.JobOptions

	// RunIf is not in torc: success, always or failure. It has more values than
	// cancel_on_blocking_job_failure, and takes precedence over it. Answers have it only
	// for failure, which the other cannot express.
	RunIf *workflow.RunIf `json:"run_if,omitempty"`

	// Not in torc; all read-only.

	// StageID is the stage of the job, absent for the main one. ChildStageID is the stage
	// of a sub-workflow job.
	StageID      *int64 `json:"stage_id,omitempty"`
	ChildStageID *int64 `json:"child_stage_id,omitempty"`
	// UndoesJobID is the job that this job of a compensation undoes; not in torc.
	UndoesJobID *int64 `json:"undoes_job_id,omitempty"`

	// NotBefore is the earliest time for claiming a ready job, in milliseconds since the
	// epoch, if it is in the future.
	NotBefore *int64 `json:"not_before,omitempty"`
	// Retries are the retries granted in the run, by rule: "policy/rule" and
	// "handler:name/1".
	Retries map[string]workflow.RuleCount `json:"retries,omitempty"`
	// AvoidNodes are nodes on which the next attempt does not run.
	AvoidNodes []workflow.AvoidedNode `json:"avoid_nodes,omitempty"`
	// UserHold says who keeps the job from being claimed, and why; not in torc.
	UserHold *workflow.UserHold `json:"user_hold,omitempty"`
	// Phase is "recovery" while a recovery script runs for the job.
	Phase *string `json:"phase,omitempty"`
	// SkippedBy is the job whose failure canceled this one.
	SkippedBy *int64 `json:"skipped_by,omitempty"`
	// NotNeeded says that the job is disabled, because no job failed after which it was to
	// run.
	NotNeeded bool `json:"not_needed,omitempty"`
}

// ScheduleComputeNodes is accepted for compatibility and never stored.
type ScheduleComputeNodes struct {
	MaxParallelJobs       *int64 `json:"max_parallel_jobs,omitempty"`
	NumJobs               int64  `json:"num_jobs"`
	SchedulerID           int64  `json:"scheduler_id"`
	StartOneWorkerPerNode *bool  `json:"start_one_worker_per_node,omitempty"`
}

// Jobs is the body of POST /bulk_jobs, and its answer.
type Jobs struct {
	Jobs []Job `json:"jobs"`
}

// NodeResources are the free resources on each node of a claiming runner.
type NodeResources struct {
	ID                *int64   `json:"id,omitempty"`
	NumCPUs           int64    `json:"num_cpus"`
	MemoryGB          float64  `json:"memory_gb"` // GiB
	NumGPUs           int64    `json:"num_gpus"`
	NumNodes          int64    `json:"num_nodes"`
	TimeLimit         *string  `json:"time_limit,omitempty"` // ISO 8601; absent is unlimited
	SchedulerConfigID *int64   `json:"scheduler_config_id,omitempty"`
	Labels            []string `json:"labels,omitempty"`
}

// ClaimedJobs is the answer to both kinds of claims.
type ClaimedJobs struct {
	Jobs   []Job   `json:"jobs"`
	Reason *string `json:"reason,omitempty"`
}

// Completion is one entry of a batch of completions.
type Completion struct {
	JobID  int64              `json:"job_id"`
	Status workflow.JobStatus `json:"status"`
	RunID  int64              `json:"run_id"`
	Result Result             `json:"result"`
}

// BatchCompleteRequest is the body of POST /workflows/{id}/batch_complete_jobs.
type BatchCompleteRequest struct {
	Completions []Completion `json:"completions"`
}

// BatchCompleteResponse says which entries were recorded.
type BatchCompleteResponse struct {
	Completed []int64           `json:"completed"`
	Errors    []CompletionError `json:"errors"`
}

// CompletionError says why an entry was rejected.
type CompletionError struct {
	JobID   int64  `json:"job_id"`
	Message string `json:"message"`
}

// SpawnRequest is the body of POST /jobs/{id}/spawn_jobs.
type SpawnRequest struct {
	Lineage *string         `json:"lineage,omitempty"`
	Jobs    []SpawnJob      `json:"jobs"`
	State   json.RawMessage `json:"state,omitempty"`
}

// SpawnJob is a job to add to a running workflow.
type SpawnJob struct {
	Name                       string   `json:"name"`
	Command                    string   `json:"command"`
	ResourceRequirements       *string  `json:"resource_requirements,omitempty"` // its name
	Priority                   *int64   `json:"priority,omitempty"`
	CancelOnBlockingJobFailure *bool    `json:"cancel_on_blocking_job_failure,omitempty"`
	DependsOn                  []string `json:"depends_on,omitempty"` // names
	Labels                     []string `json:"labels,omitempty"`
}

// SpawnResponse lists the spawned jobs.
type SpawnResponse struct {
	SpawnedJobIDs []int64 `json:"spawned_job_ids"`
	Iteration     int64   `json:"iteration"`
}

// FromJob returns a job as in the API.
func FromJob(j workflow.Job) Job {
	wire := Job{
		ID: &j.ID, WorkflowID: j.WorkflowID, Name: j.Name, Command: j.Command, JobSettings: j.JobSettings, TorcJob: j.TorcJob, Env: j.Env,
		Status: &j.Status, StartTime: j.StartTime, ComputeNodeID: j.ComputeNodeID,
		CancelOnBlockingJobFailure: new(j.RunIf.CancelOnFailure()),
		DependsOnJobIDs:            j.DependsOn, InputFileIDs: j.InputFiles, OutputFileIDs: j.OutputFiles,
		InputUserDataIDs: j.InputUserData, OutputUserDataIDs: j.OutputUserData,
		ResourceRequirementsID: j.ResourceRequirementsID, SchedulerID: j.SchedulerID, FailureHandlerID: j.FailureHandlerID,
		AttemptID: &j.AttemptID, Priority: &j.Priority, Origin: j.Origin, Labels: j.Labels,
		NotBefore: j.NotBeforeMS, Retries: j.Retries, AvoidNodes: j.AvoidNodes, UserHold: j.UserHold, SkippedBy: j.SkippedBy, NotNeeded: j.NotNeeded, JobOptions: j.JobOptions, StageID: j.StageID, ChildStageID: j.ChildID, UndoesJobID: j.UndoesID,
	}
	if j.RunIf == workflow.RunIfFailure {
		wire.RunIf = &j.RunIf
	}
	if wire.SupportsTermination == nil {
		wire.SupportsTermination = new(false) // torc's clients expect it in each job
	}
	if j.Phase != workflow.PhaseNone {
		wire.Phase = new(string(j.Phase))
	}
	return wire
}
