package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/artifact"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

// Workflow is a workflow in the API.
type Workflow struct {
	ID                                       *int64                          `json:"id,omitempty"`
	Name                                     string                          `json:"name"`
	User                                     string                          `json:"user"`
	Description                              *string                         `json:"description,omitempty"`
	Env                                      map[string]string               `json:"env,omitempty"`
	Timestamp                                *string                         `json:"timestamp,omitempty"`
	ComputeNodeWaitForNewJobsSeconds         *int64                          `json:"compute_node_wait_for_new_jobs_seconds,omitempty"`
	ComputeNodeIgnoreWorkflowCompletion      *bool                           `json:"compute_node_ignore_workflow_completion,omitempty"`
	ComputeNodeWaitForHealthyDatabaseMinutes *int64                          `json:"compute_node_wait_for_healthy_database_minutes,omitempty"`
	ComputeNodeMinTimeForNewJobsSeconds      *int64                          `json:"compute_node_min_time_for_new_jobs_seconds,omitempty"`
	ResourceMonitorConfig                    *workflow.ResourceMonitorConfig `json:"resource_monitor_config,omitempty"`
	SlurmDefaults                            Object                          `json:"slurm_defaults,omitempty"`
	UsePendingFailed                         *bool                           `json:"use_pending_failed,omitempty"`
	Project                                  *string                         `json:"project,omitempty"`
	Metadata                                 Object                          `json:"metadata,omitempty"`
	ExecutionConfig                          *workflow.ExecutionConfig       `json:"execution_config,omitempty"`
	RunID                                    *int64                          `json:"run_id,omitempty"`      // read-only
	IsCanceled                               *bool                           `json:"is_canceled,omitempty"` // read-only
	IsArchived                               *bool                           `json:"is_archived,omitempty"` // read-only
	DynamicJobs                              *workflow.DynamicJobsConfig     `json:"dynamic_jobs,omitempty"`
	workflow.TorcWorkflow
	SubmissionDirectory *string `json:"submission_directory,omitempty"`
	// SpecPath is the specification that the workflow was created from, an absolute path; read only.
	SpecPath *string `json:"spec_path,omitempty"`
	// EnforceRuntime ends jobs that exceed their declared runtime; ours.
	EnforceRuntime *bool `json:"enforce_runtime,omitempty"`
	// Policy has the rules for failures and the end of the workflow; not in torc.
	Policy *workflow.RunPolicy `json:"policy,omitempty"`
	// ClaimsHeld is why no job of it is claimed, such as "paused by ann"; read-only, not in
	// torc.
	ClaimsHeld string `json:"claims_held,omitempty"`
}

// Object is a JSON object with the user's own content, unchanged.
type Object json.RawMessage

// MarshalJSON writes the object.
func (o Object) MarshalJSON() ([]byte, error) { return json.RawMessage(o).MarshalJSON() }

// UnmarshalJSON accepts an object, and null for none.
func (o *Object) UnmarshalJSON(text []byte) error {
	switch {
	case string(text) == "null":
		*o = nil
		return nil
	case len(text) == 0 || text[0] != '{':
		return errors.New("expected an object")
	}
	*o = bytes.Clone(text)
	return nil
}

// ArchiveRequest is the body of POST /workflows/{id}/archive.
type ArchiveRequest struct {
	IsArchived bool `json:"is_archived"`
}

// IsComplete is the answer to GET /workflows/{id}/is_complete.
type IsComplete struct {
	IsCanceled bool `json:"is_canceled"`
	IsComplete bool `json:"is_complete"`
}

// IsUninitialized is the answer to GET /workflows/{id}/is_uninitialized.
type IsUninitialized struct {
	IsUninitialized bool `json:"is_uninitialized"`
}

// ResetJobStatus is the answer to POST /workflows/{id}/reset_job_status.
type ResetJobStatus struct {
	WorkflowID   int64              `json:"workflow_id"`
	UpdatedCount int64              `json:"updated_count"`
	Status       workflow.JobStatus `json:"status"`
	ResetType    *string            `json:"reset_type,omitempty"`
}

// ChangedInputs is the answer to POST /workflows/{id}/process_changed_job_inputs.
type ChangedInputs struct {
	ReinitializedJobs []string `json:"reinitialized_jobs"`
}

// JobCounts counts the jobs of a workflow by status.
type JobCounts struct {
	Uninitialized int64 `json:"uninitialized"`
	Blocked       int64 `json:"blocked"`
	Ready         int64 `json:"ready"`
	Pending       int64 `json:"pending"`
	Running       int64 `json:"running"`
	Completed     int64 `json:"completed"`
	Failed        int64 `json:"failed"`
	Canceled      int64 `json:"canceled"`
	Terminated    int64 `json:"terminated"`
	Disabled      int64 `json:"disabled"`
	PendingFailed int64 `json:"pending_failed"`
}

// Complete returns how many jobs are complete, in the sense of workflow.JobStatus.IsComplete.
func (c *JobCounts) Complete() int64 {
	return c.Completed + c.Failed + c.Canceled + c.Terminated + c.Disabled
}

// MainStage is the jobs of a workflow that are in no other stage.
type MainStage struct {
	TotalJobs    int64     `json:"total_jobs"`
	JobsByStatus JobCounts `json:"jobs_by_status"`
}

// Shown returns the counts that are shown to users: those of the main stage.
func (s *WorkflowStatus) Shown() MainStage {
	if s.MainStage != nil {
		return *s.MainStage
	}
	return MainStage{TotalJobs: s.TotalJobs, JobsByStatus: s.JobsByStatus}
}

// WorkflowStatus is the answer to GET /workflows/{id}/status.
type WorkflowStatus struct {
	WorkflowID                    int64            `json:"workflow_id"`
	WorkflowName                  string           `json:"workflow_name"`
	WorkflowUser                  string           `json:"workflow_user"`
	TotalJobs                     int64            `json:"total_jobs"`
	JobsByStatus                  JobCounts        `json:"jobs_by_status"`
	TotalExecTimeMinutes          float64          `json:"total_exec_time_minutes"`
	WalltimeSeconds               *float64         `json:"walltime_seconds,omitempty"`
	ActiveComputeNodes            int64            `json:"active_compute_nodes"`
	PendingScheduledNodes         int64            `json:"pending_scheduled_nodes"`
	ActiveScheduledNodes          int64            `json:"active_scheduled_nodes"`
	IsComplete                    bool             `json:"is_complete"`
	IsCanceled                    bool             `json:"is_canceled"`
	RuntimeBlockedReadyJobs       int64            `json:"runtime_blocked_ready_jobs"`
	LongestReadyRuntimeSeconds    *int64           `json:"longest_ready_runtime_seconds,omitempty"`
	MaxAllocationRemainingSeconds *int64           `json:"max_allocation_remaining_seconds,omitempty"`
	UnservedReadyLabels           map[string]int64 `json:"unserved_ready_labels,omitempty"`
	// RunID and Verdict are not in torc: the counted run, and how it ended (completed,
	// failed, canceled), if it has.
	RunID   int64  `json:"run_id"`
	Verdict string `json:"verdict,omitempty"`
	// GivenUp is why the run was aborted, with the job or the deadline; not in torc.
	GivenUp string `json:"given_up,omitempty"`
	// UserHeldJobs counts the jobs that users hold and that are not complete; not in torc.
	UserHeldJobs int64 `json:"user_held_jobs,omitempty"`
	// ClaimHolds says why no jobs are granted now; not in torc.
	ClaimHolds []hold.ClaimHold `json:"claim_holds,omitempty"`
	// Compensation undoes what the run did, or has done so; not in torc. Its jobs are not
	// counted.
	Compensation *stage.Compensation `json:"compensation,omitempty"`
	// AllocationReasons say why the latest allocation of each scheduler was requested,
	// and, during the run, why ready jobs have none; not in torc.
	AllocationReasons []string `json:"allocation_reasons,omitempty"`
	// Attempts are those of the run, on all runners; not in torc.
	Attempts *stage.AttemptCounts `json:"attempts,omitempty"`
	// CanceledBy lists the jobs because of which others were canceled, the largest groups
	// only; not in torc.
	CanceledBy []stage.CanceledGroup `json:"canceled_by,omitempty"`
	// EndJob is how the end job of the run ended, which is not counted; not in torc.
	EndJob *stage.EndJobResult `json:"end_job,omitempty"`
	// MainStage and Stages are set for a workflow with stages; not in torc. The counts
	// above include all jobs. Those of the main stage count a sub-workflow as one job.
	MainStage *MainStage            `json:"main_stage,omitempty"`
	Stages    *stage.StageSummaries `json:"stages,omitempty"` // those with problems
	// Runners are those with a problem: they are silent, or start no jobs; not in torc.
	Runners []RunnerState `json:"runners,omitempty"`
}

// OnlyHeld reports whether all remaining jobs are held until a user decides about them.
func (s *WorkflowStatus) OnlyHeld() bool {
	n := s.JobsByStatus
	return n.PendingFailed > 0 && n.Ready+n.Pending+n.Running+n.Uninitialized == 0
}

// HeldIndefinitely reports whether the run goes on, no job is running, and none will be claimed
// before a user ends a hold of the claims.
func (s *WorkflowStatus) HeldIndefinitely() bool {
	lasts := func(h hold.ClaimHold) bool { return h.UntilMS == 0 }
	return !s.IsComplete && !s.IsCanceled && s.JobsByStatus.Pending+s.JobsByStatus.Running == 0 && slices.ContainsFunc(s.ClaimHolds, lasts)
}

// RunnerState is a runner with a problem.
type RunnerState struct {
	ComputeNodeID int64  `json:"compute_node_id"`
	Hostname      string `json:"hostname"`
	Jobs          int64  `json:"jobs"` // that it holds
	// SilentSeconds is how long it has sent no turn, if one is overdue.
	SilentSeconds *int64 `json:"silent_seconds,omitempty"`
	// Paused is why it starts no jobs.
	Paused *workflow.LaunchPause `json:"paused,omitempty"`
}

// JobIDs is the answer to GET /workflows/{id}/job_ids.
type JobIDs struct {
	JobIDs []int64 `json:"job_ids"`
	Count  int64   `json:"count"`
}

// RequiredFiles is the answer to GET /workflows/{id}/required_existing_files.
type RequiredFiles struct {
	Files []int64 `json:"files"`
}

// MissingUserData is the answer to GET /workflows/{id}/missing_user_data.
type MissingUserData struct {
	UserData []int64 `json:"user_data"`
}

// Rows of the views of a workflow, as the domain has them.
type (
	// RunningJob is a workflow.RunningJob.
	RunningJob = workflow.RunningJob
	// JobDependency is a workflow.JobDependency.
	JobDependency = workflow.JobDependency
	// JobFileRelationship is a artifact.JobFileRelationship.
	JobFileRelationship = artifact.JobFileRelationship
	// JobUserDataRelationship is a artifact.JobUserDataRelationship.
	JobUserDataRelationship = artifact.JobUserDataRelationship
	// SlurmJobCorrelation is a compute.SlurmJobCorrelation.
	SlurmJobCorrelation = compute.SlurmJobCorrelation
)
