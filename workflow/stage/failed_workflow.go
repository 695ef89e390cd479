package stage

import "github.com/torc-slurm/torc-slurm/workflow"

// FailedWorkflowEnv names the variable with the path of the FailedWorkflow file,
// which the jobs of a compensation have.
const FailedWorkflowEnv = "TORC_FAILED_WORKFLOW_JSON"

// FailedWorkflowVersion is the version of the format of FailedWorkflow. It grows when a field
// changes its meaning or is removed; fields may be added.
const FailedWorkflowVersion = 1

// FailedWorkflow tells the jobs of a compensation about the run that they undo. In the file,
// tasks is the last key.
type FailedWorkflow struct {
	Version             int    `json:"version"`
	WorkflowID          int64  `json:"workflow_id"`
	Name                string `json:"name"`
	User                string `json:"user"`
	SubmissionDirectory string `json:"submission_directory,omitempty"`
	RunID               int64  `json:"run_id"`
	EndGeneration       int64  `json:"end_generation"`
	// Status is failed or canceled.
	Status  workflow.CompensationCase `json:"status"`
	Reason  string                    `json:"reason"`  // in one line
	AtMS    int64                     `json:"at_ms"`   // of the verdict, since the epoch
	Verdict EndPayload                `json:"verdict"` // with all counts
	// Tasks are the jobs of the workflow, by id, without those of the compensation.
	Tasks []FailedTask `json:"tasks"`
}

// FailedTask is a job of a workflow that was not successful.
type FailedTask struct {
	ID     int64              `json:"id"`
	Name   string             `json:"name"`
	Stage  string             `json:"stage,omitempty"` // the sub-workflow that it is of
	Status workflow.JobStatus `json:"status"`
	// Started says that an attempt of it started in this run or in an earlier one.
	Started bool `json:"started"`
	// Undo says that its undo command is part of this compensation.
	Undo     bool  `json:"undo"`
	Attempts int64 `json:"attempts"` // in this run
	// ReturnCode, Cause, Text and Node are those of the latest attempt; null or absent if
	// there is none.
	ReturnCode *int64             `json:"return_code"`
	Cause      workflow.CauseKind `json:"cause,omitempty"`
	Text       string             `json:"text,omitempty"` // the cause in one line
	Node       string             `json:"node,omitempty"`
}
