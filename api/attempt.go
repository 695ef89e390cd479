package api

import (
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/explain"
)

// Attempt is one attempt of a job. It is never overwritten.
type Attempt struct {
	JobID         int64              `json:"job_id"`
	RunID         int64              `json:"run_id"`
	AttemptID     int64              `json:"attempt_id"`
	ComputeNodeID *int64             `json:"compute_node_id,omitempty"`
	Node          string             `json:"node,omitempty"`
	OutputDir     string             `json:"output_dir,omitempty"` // of its runner, absolute
	Status        workflow.JobStatus `json:"status"`               // running while it runs
	ReturnCode    *int64             `json:"return_code,omitempty"`
	StartedMS     *int64             `json:"started_ms,omitempty"`
	EndedMS       *int64             `json:"ended_ms,omitempty"`
	Cause         string             `json:"cause,omitempty"`
	Confidence    string             `json:"confidence,omitempty"`
	CauseText     string             `json:"cause_text,omitempty"` // the evidence in one line
	Decision      string             `json:"decision,omitempty"`   // retry, recover, hold, fail
	Reason        string             `json:"reason,omitempty"`     // of the decision
	Rule          string             `json:"rule,omitempty"`       // that decided
	PolicyHash    string             `json:"policy_hash,omitempty"`
	Evidence      *workflow.Evidence `json:"evidence,omitempty"`
	Recovery      *FailedRecovery    `json:"recovery,omitempty"` // if its recovery script failed
}

// FailedRecovery is a recovery script that failed after an attempt.
type FailedRecovery struct {
	EndedMS    int64  `json:"ended_ms"`
	ReturnCode int64  `json:"return_code"`
	Cause      string `json:"cause"`
	CauseText  string `json:"cause_text,omitempty"`
	Decision   string `json:"decision"` // retry, hold, fail
	Reason     string `json:"reason"`
	Rule       string `json:"rule,omitempty"`
	PolicyHash string `json:"policy_hash,omitempty"`
}

// JobAttempts is the answer to GET /jobs/{id}/attempts.
type JobAttempts struct {
	Attempts []Attempt `json:"attempts"` // by run, then attempt
}

// Explanation is the answer to GET /jobs/{id}/why and /workflows/{id}/why. String returns
// its text.
type Explanation = explain.Explanation
