package lease

import (
	"github.com/torc-slurm/torc-slurm/workflow"
)

// Recovered says how a recovery script ended.
type Recovered struct {
	LeaseRef
	ReturnCode int64  `json:"return_code"`
	Error      string `json:"error,omitempty"` // could not run, timed out
	// If it failed: when it ran, and how it ended; nil if nobody saw that.
	StartedMS int64              `json:"started_ms,omitempty"`
	EndedMS   int64              `json:"ended_ms,omitempty"`
	Evidence  *workflow.Evidence `json:"evidence,omitempty"`
}

// Failed reports whether the script did not run or ended with a failure.
func (r *Recovered) Failed() bool { return r.ReturnCode != 0 || r.Error != "" }

// Recovery is a recovery script to run for a failed attempt.
type Recovery struct {
	Script         string             `json:"script"`
	ReturnCode     int64              `json:"return_code"` // of the failed attempt
	Cause          workflow.CauseKind `json:"cause"`
	TimeoutSeconds float64            `json:"timeout_seconds"`
}
