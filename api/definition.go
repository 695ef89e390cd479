package api

import (
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/amend"
)

// A whole workflow is sent as lines of JSON (application/x-ndjson) to POST
// /workflows/definition: a header, any number of chunks, and an end line with the counts.
// Nothing of it is visible before the end line has arrived and was verified.

// DefinitionLine is one line. One field is set.
type DefinitionLine struct {
	Workflow        *DefinitionHeader                   `json:"workflow,omitempty"`
	Files           []workflow.FileDefinition           `json:"files,omitempty"`
	UserData        []workflow.UserDataDefinition       `json:"user_data,omitempty"`
	Requirements    []DefinitionRequirements            `json:"resource_requirements,omitempty"`
	FailureHandlers []workflow.FailureHandlerDefinition `json:"failure_handlers,omitempty"`
	SlurmSchedulers []workflow.SlurmSchedulerDefinition `json:"slurm_schedulers,omitempty"`
	Stages          []workflow.StageDefinition          `json:"stages,omitempty"`
	Jobs            []workflow.JobDefinition            `json:"jobs,omitempty"`
	Actions         []workflow.ActionDefinition         `json:"actions,omitempty"`
	End             *DefinitionEnd                      `json:"end,omitempty"`
}

// DefinitionHeader is the workflow itself, without its lists.
type DefinitionHeader struct {
	// Key is chosen by the client. Sending a definition again with the same key returns
	// the workflow that the first one created.
	Key string `json:"key,omitempty"`
	workflow.Definition
}

// DefinitionRequirements are a workflow.ResourceRequirements without ids.
type DefinitionRequirements struct {
	Name     string `json:"name"`
	NumCPUs  int64  `json:"num_cpus"`
	NumGPUs  int64  `json:"num_gpus"`
	NumNodes int64  `json:"num_nodes"`
	Memory   string `json:"memory"`
	Runtime  string `json:"runtime"`
}

// DefinitionEnd ends a definition. Its counts must match the records sent.
type DefinitionEnd struct {
	Jobs  int64 `json:"jobs"`
	Files int64 `json:"files"`
}

// DefinitionResponse is the answer to POST /workflows/definition.
type DefinitionResponse struct {
	WorkflowID int64 `json:"workflow_id"`
	JobCount   int64 `json:"job_count"`
}

// AmendQuery are the parameters of POST /workflows/{id}/amend, which changes a workflow to a
// definition in the same lines.
type AmendQuery struct {
	DryRun bool   // only say what would change
	RunID  *int64 // rejected unless the workflow is at this run; nil: at any
	AllNew bool   // even if the workflow has no job of the definition
	// Stated says that the files of the definition have their present times and sizes, so
	// that missing outputs and changed inputs are found.
	Stated   bool
	TakeBack bool // take back the cancellation of a canceled workflow
}

// Amendment is what a new definition changes in a workflow, or would change.
type Amendment struct {
	WorkflowID int64 `json:"workflow_id"`
	RunID      int64 `json:"run_id"` // in which the jobs run
	DryRun     bool  `json:"dry_run"`
	// Counts are how many jobs run for each reason, in the order of a report.
	Counts    []AmendmentCount `json:"counts"`
	Runs      int64            `json:"runs"`      // jobs that run, or run again
	Unchanged int64            `json:"unchanged"` // jobs that stay as they are
	// Jobs are those that run and those whose settings change.
	Jobs    []AmendedJob `json:"jobs"`
	Removed []string     `json:"removed"` // jobs that are disabled, as the definition does not have them
	// Obstacle is why the amendment would be rejected now; empty if it would not.
	Obstacle string `json:"obstacle,omitempty"`
	// AllNew says that the workflow has no job of the definition, so that all are new.
	AllNew bool `json:"all_new,omitempty"`
}

// AmendmentCount is how many jobs run for a reason.
type AmendmentCount struct {
	Reason amend.Reason `json:"reason"`
	Jobs   int64        `json:"jobs"`
}

// AmendedJob is what changes for a job.
type AmendedJob struct {
	Name string `json:"name"`
	// Status is what it was; absent for a new job.
	Status     *workflow.JobStatus `json:"status,omitempty"`
	Reason     amend.Reason        `json:"reason,omitempty"` // why it runs; absent: it does not
	Difference string              `json:"difference,omitempty"`
	Settings   []string            `json:"settings,omitempty"` // that apply without running it
}
