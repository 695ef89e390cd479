package compute

import (
	"path/filepath"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// Submission says that the daemon requests the allocations of a run, and how.
type Submission struct {
	WorkflowID  int64
	RunID       int64
	SubmittedMS int64 // when it was last submitted
	Options     SubmitOptions
}

// SubmitOptions says how the allocations of a submitted run are requested, and how its
// runners work.
type SubmitOptions struct {
	// OutputDir is where the runners and Slurm write, absolute.
	OutputDir       string `json:"output_dir"`
	MaxParallelJobs int64  `json:"max_parallel_jobs,omitempty"`
	// Account, Partition and QOS apply to allocations that no slurm_scheduler describes;
	// empty: as the site suggests.
	Account   string `json:"account,omitempty"`
	Partition string `json:"partition,omitempty"`
	QOS       string `json:"qos,omitempty"`
	// NoAutoSchedule says that allocations are requested only by schedule_nodes actions,
	// once each, at their triggers.
	NoAutoSchedule bool `json:"no_auto_schedule,omitempty"`
	// Prefer is what plans prefer; empty: what the action says.
	Prefer string `json:"prefer,omitempty"`
}

// Validate returns an error of CodeInvalid if the options are not valid.
func (o *SubmitOptions) Validate() error {
	if !filepath.IsAbs(o.OutputDir) {
		return workflow.Errorf(workflow.CodeInvalid, "the path of the output directory %q is not absolute", o.OutputDir)
	}
	if o.MaxParallelJobs < 0 {
		return workflow.Errorf(workflow.CodeInvalid, "max_parallel_jobs must not be negative: %d", o.MaxParallelJobs)
	}
	return workflow.ValidatePreference(o.Prefer)
}

// The types of the events about why jobs have no allocations.
const (
	EventSchedulingPaused  workflow.EventType = "scheduling_paused"  // allocations did no work
	EventSchedulingBlocked workflow.EventType = "scheduling_blocked" // jobs fit no allocation
)

// SchedulingPayload is the data of EventSchedulingPaused and EventSchedulingBlocked.
type SchedulingPayload struct {
	Category string `json:"category"` // scheduler
	ActionID int64  `json:"action_id,omitempty"`
	Pool     string `json:"pool,omitempty"`
	Jobs     int64  `json:"jobs,omitempty"`
	UntilMS  int64  `json:"until_ms,omitempty"`
	Reason   string `json:"reason"`
}
