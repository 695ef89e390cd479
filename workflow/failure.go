package workflow

import "time"

// Component is the part of a job whose failure a rule looks at.
type Component string

// The components of a job; the empty one is main.
const (
	ComponentMain     Component = "main"     // the job's command
	ComponentRecovery Component = "recovery" // the recovery script of a rule
)

// Failure is an attempt as rules look at it.
type Failure struct {
	Cause     Cause
	Evidence  Evidence
	Node      string
	Elapsed   time.Duration
	Component Component
}
