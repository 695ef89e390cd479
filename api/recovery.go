package api

import (
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/usage"
)

// RecoverRequest asks for the failed jobs of a workflow that has ended to be repeated.
type RecoverRequest struct {
	DryRun bool `json:"dry_run,omitempty"` // only propose
	// What failed jobs lacked grows by a multiplier, at least 1; one that is absent is 1.5.
	MemoryMultiplier  *float64 `json:"memory_multiplier,omitempty"`
	RuntimeMultiplier *float64 `json:"runtime_multiplier,omitempty"`
	// Skip are the groups whose jobs are left as they are.
	Skip []usage.FailureGroup `json:"skip,omitempty"`
	// RunID and Jobs are as a proposal has them; if they are given, the request is
	// refused where the workflow has gone on since.
	RunID *int64        `json:"run_id,omitempty"`
	Jobs  []ExpectedJob `json:"jobs,omitempty"` // those that are to be repeated
	// Step, if given, carries out one half: correct changes the requirements, repeat
	// resets the jobs. Between them the caller may mend what jobs need. Repeat needs
	// run_id and jobs, and leaves jobs that somebody has changed since.
	Step RecoverStep `json:"step,omitempty"`
}

// RecoverStep is one half of a recovery.
type RecoverStep string

// The steps.
const (
	RecoverCorrect RecoverStep = "correct"
	RecoverRepeat  RecoverStep = "repeat"
)

// ExpectedJob is a job with the status that its caller saw.
type ExpectedJob struct {
	JobID  int64              `json:"job_id"`
	Status workflow.JobStatus `json:"status"`
}

// RecoveryPlan is how failed jobs are repeated, or would be.
type RecoveryPlan struct {
	WorkflowID        int64            `json:"workflow_id"`
	RunID             int64            `json:"run_id"` // of the run that failed
	DryRun            bool             `json:"dry_run"`
	MemoryMultiplier  float64          `json:"memory_multiplier"`
	RuntimeMultiplier float64          `json:"runtime_multiplier"`
	UsesSlurm         bool             `json:"uses_slurm"` // it has or had allocations, or schedulers for some
	Jobs              []RecoverableJob `json:"jobs"`       // those that failed
	Changes           []RecoveryChange `json:"changes"`
	Left              []LeftJob        `json:"left,omitempty"` // that somebody has changed meanwhile
	// CPUSeconds is what the repeated jobs may use at most, by the CPUs and the runtime that
	// they then require.
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

// RecoveryChange is what jobs require from now on.
type RecoveryChange struct {
	Name        string       `json:"name"`  // of the requirements
	Clone       bool         `json:"clone"` // others keep theirs; the jobs get requirements of their own
	JobIDs      []int64      `json:"job_ids"`
	Adjustments []Adjustment `json:"adjustments"`
	Text        string       `json:"text"`
}

// LeftJob is a job that a recovery left as somebody else had made it.
type LeftJob struct {
	JobID   int64              `json:"job_id"`
	JobName string             `json:"job_name"`
	Status  workflow.JobStatus `json:"status"`
}
