package lease

import (
	"github.com/torc-slurm/torc-slurm/workflow"
)

// Report says how an attempt ended.
type Report struct {
	LeaseRef
	StartedMS int64             `json:"started_ms"`
	EndedMS   int64             `json:"ended_ms"`
	Evidence  workflow.Evidence `json:"evidence"`
	// FileTimes has the modification times of the output files that exist.
	FileTimes []FileTime `json:"file_times,omitempty"`
}

// FileTime is a file's modification time in seconds since the epoch.
type FileTime struct {
	FileID  int64   `json:"file_id"`
	ModTime float64 `json:"st_mtime"`
}

// Outcome is what the daemon did with a report.
type Outcome string

// The outcomes.
const (
	Accepted  Outcome = "accepted"  // recorded now
	Duplicate Outcome = "duplicate" // recorded before; the answer is the same
	Late      Outcome = "late"      // with an old fence: stored, without effect
	Refused   Outcome = "refused"   // rejected; Message says why
)

// ReportResult answers one report.
type ReportResult struct {
	LeaseRef
	Outcome Outcome `json:"outcome"`
	Message string  `json:"message,omitempty"`
	// Status is the job's status after the report.
	Status workflow.JobStatus `json:"status"`
	// Recovery, if not nil, is a recovery script to run now; the runner keeps the lease
	// until it has reported the result in Recovered.
	Recovery *Recovery `json:"recovery,omitempty"`
	// ReturnCode and Cause are how the daemon classified the evidence.
	ReturnCode int64              `json:"return_code"`
	Cause      workflow.CauseKind `json:"cause,omitempty"`
	// Category is the category of the failure, only within the daemon; empty if none
	// matches.
	Category string `json:"-"`
	Reason   string `json:"reason,omitempty"` // of the decision
}
