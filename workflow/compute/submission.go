package compute

import (
	"path/filepath"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// Submission says that the daemon asks for the allocations of a run, and how.
type Submission struct {
	WorkflowID  int64
	RunID       int64
	SubmittedMS int64 // the latest time
	Options     SubmitOptions
}

// SubmitOptions are how the allocations of a submitted run are asked for, and
// how its runners work.
type SubmitOptions struct {
	// OutputDir is where the runners and Slurm write, absolute.
	OutputDir       string `json:"output_dir"`
	MaxParallelJobs int64  `json:"max_parallel_jobs,omitempty"`
	// Where allocations are asked for that no slurm_scheduler describes; empty:
	// as the site suggests.
	Account   string `json:"account,omitempty"`
	Partition string `json:"partition,omitempty"`
	QOS       string `json:"qos,omitempty"`
	// NoAutoSchedule: no more is asked for than schedule_nodes actions ask for once,
	// at their triggers.
	NoAutoSchedule bool `json:"no_auto_schedule,omitempty"`
	// Prefer is what plans prefer; empty: what the action says.
	Prefer string `json:"prefer,omitempty"`
}

// Validate returns an invalid error for options that nobody can work with.
func (o *SubmitOptions) Validate() error {
	if !filepath.IsAbs(o.OutputDir) {
		return workflow.Errorf(workflow.CodeInvalid, "the output directory %q is not absolute", o.OutputDir)
	}
	if o.MaxParallelJobs < 0 {
		return workflow.Errorf(workflow.CodeInvalid, "max_parallel_jobs is %d", o.MaxParallelJobs)
	}
	return workflow.ValidatePreference(o.Prefer)
}

// EventSchedulingPaused and the others report what keeps jobs without
// allocations.
const (
	EventSchedulingPaused  workflow.EventType = "scheduling_paused"  // allocations did no work
	EventSchedulingBlocked workflow.EventType = "scheduling_blocked" // jobs fit no allocation
)

// SchedulingPayload is the data of these events.
type SchedulingPayload struct {
	Category string `json:"category"` // scheduler
	ActionID int64  `json:"action_id,omitempty"`
	Pool     string `json:"pool,omitempty"`
	Jobs     int64  `json:"jobs,omitempty"`
	UntilMS  int64  `json:"until_ms,omitempty"`
	Reason   string `json:"reason"`
}
