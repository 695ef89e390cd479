package api

import (
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/usage"
)

// RecoverRequest requests that failed jobs of an ended workflow run again.
type RecoverRequest struct {
	DryRun bool `json:"dry_run,omitempty"` // only propose
	// Resources that failed jobs lacked are multiplied; at least by 1, by default by 1.5.
	MemoryMultiplier  *float64 `json:"memory_multiplier,omitempty"`
	RuntimeMultiplier *float64 `json:"runtime_multiplier,omitempty"`
	// Skip are the groups whose jobs are not repeated.
	Skip []usage.FailureGroup `json:"skip,omitempty"`
	// RunID and Jobs are copied from a proposal. If they are set, the request is rejected
	// if the workflow has changed since.
	RunID *int64        `json:"run_id,omitempty"`
	Jobs  []ExpectedJob `json:"jobs,omitempty"` // those that are to be repeated
	// Step, if set, carries out one half: correct changes the requirements, repeat resets
	// the jobs. In between the caller may change requirements itself. Repeat needs run_id
	// and jobs, and skips jobs that were changed since.
	Step RecoverStep `json:"step,omitempty"`
}

// RecoverStep is one half of a recovery.
type RecoverStep string

// The steps.
const (
	RecoverCorrect RecoverStep = "correct"
	RecoverRepeat  RecoverStep = "repeat"
)

// ExpectedJob is a job with the status that the caller saw.
type ExpectedJob struct {
	JobID  int64              `json:"job_id"`
	Status workflow.JobStatus `json:"status"`
}

// RecoveryPlan says how failed jobs are repeated, or would be.
type RecoveryPlan struct {
	WorkflowID        int64            `json:"workflow_id"`
	RunID             int64            `json:"run_id"` // of the run that failed
	DryRun            bool             `json:"dry_run"`
	MemoryMultiplier  float64          `json:"memory_multiplier"`
	RuntimeMultiplier float64          `json:"runtime_multiplier"`
	UsesSlurm         bool             `json:"uses_slurm"` // it has or had allocations or Slurm schedulers
	Jobs              []RecoverableJob `json:"jobs"`       // those that failed
	Changes           []RecoveryChange `json:"changes"`
	Left              []LeftJob        `json:"left,omitempty"` // changed in the meantime
	// CPUSeconds is the most that the repeated jobs may use, by their new CPUs and
	// runtime.
	CPUSeconds int64 `json:"cpu_seconds"`
}

// RecoverableJob says why a job failed, and whether it is repeated.
type RecoverableJob struct {
	JobID   int64              `json:"job_id"`
	JobName string             `json:"job_name"`
	Status  workflow.JobStatus `json:"status"`
	Group   usage.FailureGroup `json:"group"`
	Cause   workflow.CauseKind `json:"cause"`
	Text    string             `json:"text"`
	Retry   bool               `json:"retry"`
}

// RecoveryChange is a change of requirements.
type RecoveryChange struct {
	Name        string       `json:"name"`  // of the requirements
	Clone       bool         `json:"clone"` // others keep theirs; the jobs get requirements of their own
	JobIDs      []int64      `json:"job_ids"`
	Adjustments []Adjustment `json:"adjustments"`
	Text        string       `json:"text"`
}

// LeftJob is a job that was skipped because it was changed in the meantime.
type LeftJob struct {
	JobID   int64              `json:"job_id"`
	JobName string             `json:"job_name"`
	Status  workflow.JobStatus `json:"status"`
}
