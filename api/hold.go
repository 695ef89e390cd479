package api

import (
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/classifier"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
)

// HoldList lists the jobs that wait for a classification, grouped by how they failed.
type HoldList struct {
	Groups []hold.HoldGroup `json:"groups"` // by workflow, the largest first
}

// FailureGroupList lists jobs of a workflow that failed in this run, grouped by how.
type FailureGroupList struct {
	Groups []hold.FailureGroup `json:"groups"` // the largest first
	// Total is the number of groups, Jobs that of the jobs in all of them.
	Total int64 `json:"total"`
	Jobs  int64 `json:"jobs"`
}

// HoldResolution ends the holds of jobs of a workflow: those in job_ids, those with the
// fingerprint, or all. Exactly one of the three is set.
type HoldResolution struct {
	JobIDs      []int64 `json:"job_ids,omitempty"`
	Fingerprint string  `json:"fingerprint,omitempty"`
	All         bool    `json:"all,omitempty"`
	// DryRun returns what would become of the jobs and changes nothing. Force lets them
	// request more than any node has.
	DryRun bool `json:"dry_run,omitempty"`
	Force  bool `json:"force,omitempty"`
	// The default author is the calling user.
	hold.Classification
}

// HoldOutcomes is the result for each job.
type HoldOutcomes struct {
	Outcomes []hold.HoldOutcome `json:"outcomes"` // by job
}

// HoldVerdicts ends the holds of jobs of a workflow by several entries. DryRun and Force
// are as in HoldResolution.
type HoldVerdicts struct {
	Verdicts []hold.HoldVerdict `json:"verdicts"` // in the order of precedence
	DryRun   bool               `json:"dry_run,omitempty"`
	Force    bool               `json:"force,omitempty"`
}

// VerdictOutcomes is the result for each entry.
type VerdictOutcomes struct {
	Outcomes []hold.VerdictOutcome `json:"outcomes"` // in the order of the entries
}

// ClassifierState is what agents were asked about the held jobs of a workflow in this run.
type ClassifierState struct {
	WorkflowID int64 `json:"workflow_id"`
	// Policy is the setting; absent if the workflow has none.
	Policy *workflow.ClassifierPolicy `json:"policy,omitempty"`
	// Asks says that this daemon asks agents. One within the process of a command does not.
	Asks bool `json:"asks"`
	// Pending says that a call goes on or is due, without the repetition of a call that was not
	// answered. Next says more in words.
	Pending bool              `json:"pending"`
	Next    string            `json:"next"`
	Calls   []classifier.Call `json:"calls"` // the oldest first
}
