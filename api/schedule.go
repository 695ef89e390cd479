package api

import "github.com/torc-slurm/torc-slurm/workflow"

// SubmitRequest has the daemon ask Slurm for the allocations of a run.
type SubmitRequest struct {
	// OutputDir is where the runners and Slurm write: absolute, on a file system
	// that the nodes see. A plan needs none.
	OutputDir       string `json:"output_dir,omitempty"`
	MaxParallelJobs int64  `json:"max_parallel_jobs,omitempty"`
	// Where to ask for what no slurm_scheduler describes; empty: as the site
	// suggests.
	Account   string `json:"account,omitempty"`
	Partition string `json:"partition,omitempty"`
	QOS       string `json:"qos,omitempty"`
	// AutoSchedule has allocations asked for as long as ready jobs have no
	// place, within these limits. A workflow without actions that ask for
	// allocations gets that in any case, with the limits' defaults.
	AutoSchedule *workflow.AutoSchedule `json:"auto_schedule,omitempty"`
	// NoAutoSchedule: no more is asked for than the schedule_nodes actions ask for
	// once, as with auto_schedule: false in the specification. Without it that is as in
	// the latest submission.
	NoAutoSchedule *bool `json:"no_auto_schedule,omitempty"`
	// SkipChecks: a workflow is taken in which jobs fit no allocation that it can get.
	SkipChecks bool `json:"skip_checks,omitempty"`
}

// SchedulePlan is what was asked of Slurm for a workflow, or would be.
type SchedulePlan struct {
	WorkflowID int64 `json:"workflow_id"`
	// AutoSchedule: the daemon goes on asking as long as jobs need it. LookedAfter:
	// it does, or it asks for more of a scheduler whose actions have asked when jobs
	// have lost their place or are retried.
	AutoSchedule bool                 `json:"auto_schedule"`
	LookedAfter  bool                 `json:"looked_after,omitempty"`
	Planned      []PlannedAllocations `json:"planned"`
	Asked        []Allocation         `json:"asked"`               // what Slurm has taken
	Refused      []string             `json:"refused"`             // what stood in the way of the rest
	Refusals     []ScheduleRefusal    `json:"refusals"`            // the same with what it means
	Canceled     []CanceledAllocation `json:"canceled"`            // surplus ones
	ReadyJobs    []ScheduledJobs      `json:"ready_jobs"`          // what becomes of them
	Waits        []ScheduleWait       `json:"waits"`               // what Slurm is not asked for now
	Text         []string             `json:"text"`                // all of it in words
	Unfit        []UnfitJobs          `json:"unfit,omitempty"`     // jobs that can never run as things stand
	Unchecked    string               `json:"unchecked,omitempty"` // why it is not known which these are
	NextMS       int64                `json:"next_ms,omitempty"`   // when the daemon looks again at the latest
}

// UnfitJobs are jobs with equal needs that fit no allocation which their workflow can
// get, and no runner that it has.
type UnfitJobs struct {
	First  string `json:"first"` // the name of one of them
	Jobs   int64  `json:"jobs"`
	Reason string `json:"reason"` // what they need, and the most that there is
	Text   string `json:"text"`   // all of it in a line
}

// PlannedAllocations is allocations of one kind.
type PlannedAllocations struct {
	ActionID          int64    `json:"action_id,omitempty"` // of the workflow; 0: of the one that a submission makes
	Pool              string   `json:"pool"`                // for people: the scheduler or the partition
	SchedulerConfigID *int64   `json:"scheduler_config_id,omitempty"`
	Count             int64    `json:"count"`
	Account           string   `json:"account,omitempty"`
	Partition         string   `json:"partition,omitempty"`
	Nodes             int64    `json:"nodes"`
	CPUs              int64    `json:"cpus,omitempty"` // on each node, as far as it is known, as the next two
	MemoryBytes       int64    `json:"memory_bytes,omitempty"`
	GPUs              int64    `json:"gpus,omitempty"`
	WalltimeSeconds   int64    `json:"walltime_seconds,omitempty"`
	Exclude           []string `json:"exclude,omitempty"`
	Probe             bool     `json:"probe,omitempty"` // one, to see whether Slurm works again
	Reason            string   `json:"reason"`
}

// ScheduleRefusal is why an allocation was not asked for, or not taken. Of the
// classes temporary, limit, ambiguous and withheld the daemon asks again when that
// helps; what is permanent is refused until somebody changes something.
type ScheduleRefusal struct {
	Class string `json:"class"`
	Text  string `json:"text"`
}

// CanceledAllocation is an allocation that is not needed any more.
type CanceledAllocation struct {
	AllocationID int64  `json:"allocation_id"`
	Reason       string `json:"reason"`
}

// ScheduledJobs says where the ready jobs of one kind are going to run.
type ScheduledJobs struct {
	Ready     int64  `json:"ready"`
	Live      int64  `json:"live"`      // have room in live allocations
	Pending   int64  `json:"pending"`   // have room in pending ones
	Asked     int64  `json:"asked"`     // in those that are asked for now
	Uncovered int64  `json:"uncovered"` // have no place
	Reason    string `json:"reason,omitempty"`

	CPUs           int64 `json:"cpus"`
	MemoryBytes    int64 `json:"memory_bytes"`
	GPUs           int64 `json:"gpus"`
	Nodes          int64 `json:"nodes"`
	RuntimeSeconds int64 `json:"runtime_seconds"`
}

// ScheduleWait is why Slurm is not asked for something now.
type ScheduleWait struct {
	Kind    string `json:"kind"` // wait, pause
	Pool    string `json:"pool,omitempty"`
	UntilMS int64  `json:"until_ms,omitempty"` // 0: until something changes
	Reason  string `json:"reason"`
}
