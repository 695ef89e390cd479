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
	// FileTimes are the modification times of output files that are there.
	FileTimes []FileTime `json:"file_times,omitempty"`
}

// FileTime is a file's modification time in seconds since the epoch.
type FileTime struct {
	FileID  int64   `json:"file_id"`
	ModTime float64 `json:"st_mtime"`
}

// Outcome says what became of a report.
type Outcome string

// The outcomes.
const (
	Accepted  Outcome = "accepted"  // recorded now
	Duplicate Outcome = "duplicate" // was recorded before; the same answer again
	Late      Outcome = "late"      // an old fence: kept, without effect
	Refused   Outcome = "refused"   // cannot be recorded; Message says why
)

// ReportResult answers one report.
type ReportResult struct {
	LeaseRef
	Outcome Outcome `json:"outcome"`
	Message string  `json:"message,omitempty"`
	// Status is the job's status after it.
	Status workflow.JobStatus `json:"status"`
	// Recovery, if not nil, is a recovery script to run now; the lease stays
	// until the runner has reported it in Recovered.
	Recovery *Recovery `json:"recovery,omitempty"`
	// ReturnCode and Cause are what the daemon made of the evidence.
	ReturnCode int64              `json:"return_code"`
	Cause      workflow.CauseKind `json:"cause,omitempty"`
	// Category is of the failure, for the daemon alone; empty if none matches.
	Category string `json:"-"`
	Reason   string `json:"reason,omitempty"` // of the decision
}
