package api

import (
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/operate"
)

// JobChoice chooses jobs of a workflow. What is given must all match.
type JobChoice struct {
	// Jobs are names, patterns of names (*, ?, [abc]) and ids. A name takes precedence over
	// an id.
	Jobs     []string             `json:"jobs,omitempty"`
	Statuses []workflow.JobStatus `json:"statuses,omitempty"`
	Causes   []workflow.CauseKind `json:"causes,omitempty"` // of the latest attempt in this run
	// Group is the fingerprint of how the latest attempt failed, as in GET /holds.
	Group string `json:"group,omitempty"`
	// All chooses all jobs, if nothing else is given.
	All bool `json:"all,omitempty"`
}

// JobOperation cancels, holds, releases or prioritizes the chosen jobs.
type JobOperation struct {
	JobChoice
	Reason string `json:"reason,omitempty"`
	// DryRun returns what would happen, and changes nothing.
	DryRun bool `json:"dry_run,omitempty"`
}

// JobPrioritization is a JobOperation with the new priority: Priority, or, with First, one
// that precedes all other jobs.
type JobPrioritization struct {
	JobOperation
	Priority *int64 `json:"priority,omitempty"`
	First    bool   `json:"first,omitempty"`
}

// JobCancellation cancels one job.
type JobCancellation struct {
	Reason string `json:"reason,omitempty"`
	// DryRun returns what would happen, and changes nothing.
	DryRun bool `json:"dry_run,omitempty"`
}

// JobsOperated says what was done to jobs or, in a dry run, what would be.
type JobsOperated struct {
	WorkflowID int64         `json:"workflow_id"`
	Verb       operate.Verb  `json:"verb"`
	DryRun     bool          `json:"dry_run,omitempty"`
	Jobs       []OperatedJob `json:"jobs"` // by id
	// Dependents are other jobs that end without having run: because the chosen jobs are
	// canceled, or when the last of them has ended.
	Dependents []DependentJob `json:"dependents,omitempty"`
	// CPUSeconds is what the jobs that end have used so far, by the CPUs that they require:
	// work that is lost unless they save it.
	CPUSeconds int64 `json:"cpu_seconds,omitempty"`
	// Priority is that of the prioritized jobs.
	Priority *int64 `json:"priority,omitempty"`
	// EndsRun says that no job is left then, and the run ends.
	EndsRun bool `json:"ends_run,omitempty"`
}

// OperatedJob is a job and what was done to it.
type OperatedJob struct {
	JobID     int64              `json:"job_id"`
	Name      string             `json:"name"`
	Status    workflow.JobStatus `json:"status"` // before
	StartTime *string            `json:"start_time,omitempty"`
	// Effect is changed, ending (its runner ends it, and reports how it ended), unchanged or
	// rejected.
	Effect operate.Effect `json:"effect"`
	Reason string         `json:"reason,omitempty"` // if it is unchanged or rejected
	Named  bool           `json:"named,omitempty"`  // it was chosen by its name or id
}

// DependentJob is a job that ends without having run.
type DependentJob struct {
	JobID  int64              `json:"job_id"`
	Name   string             `json:"name"`
	Status workflow.JobStatus `json:"status"` // that it gets: canceled, or disabled if it is not needed
}
