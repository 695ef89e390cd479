package workflow

import "time"

// Attempt is the record of one attempt of a job in a run. It is created when the
// attempt starts, completed when it ends, and never overwritten.
type Attempt struct {
	WorkflowID int64
	JobID      int64
	RunID      int64
	AttemptID  int64
	Fence      int64
	RunnerID   *int64 // the compute node; nil if a torc client reported it without one
	Node       string // host that it ran on
	OutputDir  string // of its runner, absolute; empty if it is not known
	StartedMS  *int64 // milliseconds since the epoch; nil: reported without a start
	EndedMS    *int64 // nil while it runs
	Status     JobStatus
	ReturnCode int64
	Cause      Cause
	Evidence   Evidence
	Decision   Decision
	Recovery   *FailedRecovery // of the recovery script after it; nil if none failed
}

// Component is the part of a job whose failures a rule applies to.
type Component string

// The components of a job; the empty one means main.
const (
	ComponentMain     Component = "main"     // the job's command
	ComponentRecovery Component = "recovery" // the recovery script of a rule
)

// Failure is what rules know of a failed attempt.
type Failure struct {
	Cause     Cause
	Evidence  Evidence
	Node      string
	Elapsed   time.Duration
	Component Component
}
