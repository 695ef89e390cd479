package lease

import (
	"github.com/torc-slurm/torc-slurm/workflow"
)

// Recovered says how a recovery script ended.
type Recovered struct {
	LeaseRef
	ReturnCode int64  `json:"return_code"`
	Error      string `json:"error,omitempty"` // why it could not run, or that it timed out
	// StartedMS, EndedMS and Evidence say, if the script failed, when it ran and how it
	// ended; Evidence is nil if that is unknown.
	StartedMS int64              `json:"started_ms,omitempty"`
	EndedMS   int64              `json:"ended_ms,omitempty"`
	Evidence  *workflow.Evidence `json:"evidence,omitempty"`
}

// Failed reports whether the script could not run or failed.
func (r *Recovered) Failed() bool { return r.ReturnCode != 0 || r.Error != "" }

// Recovery is a recovery script to run for a failed attempt.
type Recovery struct {
	Script         string             `json:"script"`
	ReturnCode     int64              `json:"return_code"` // of the failed attempt
	Cause          workflow.CauseKind `json:"cause"`
	TimeoutSeconds float64            `json:"timeout_seconds"`
}
