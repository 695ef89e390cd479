package api

import "github.com/torc-slurm/torc-slurm/workflow"

// SubmitRequest has the daemon request the allocations of a run.
type SubmitRequest struct {
	// OutputDir is where the runners and Slurm write: absolute, on a file system of the
	// nodes. A plan needs none.
	OutputDir       string `json:"output_dir,omitempty"`
	MaxParallelJobs int64  `json:"max_parallel_jobs,omitempty"`
	// Account, Partition and QOS are for requests that no slurm_scheduler describes;
	// empty for what the site suggests.
	Account   string `json:"account,omitempty"`
	Partition string `json:"partition,omitempty"`
	QOS       string `json:"qos,omitempty"`
	// AutoSchedule has allocations requested as long as ready jobs have no place, within
	// these limits. A workflow without actions that request allocations always does so,
	// with default limits.
	AutoSchedule *workflow.AutoSchedule `json:"auto_schedule,omitempty"`
	// NoAutoSchedule limits requests to those of the schedule_nodes actions, once each, as
	// auto_schedule: false in the specification does. If absent, the setting of the latest
	// submission applies.
	NoAutoSchedule *bool `json:"no_auto_schedule,omitempty"`
	// Prefer is what the plans prefer where they can choose: time, cost or balanced. If
	// empty, prefer of the action applies, and balanced if it has none.
	Prefer string `json:"prefer,omitempty"`
	// SkipChecks accepts a workflow with jobs that fit no allocation that it can get.
	SkipChecks bool `json:"skip_checks,omitempty"`
}

// SchedulePlan is what was requested from Slurm for a workflow, or would be.
type SchedulePlan struct {
	WorkflowID int64 `json:"workflow_id"`
	// AutoSchedule says that the daemon requests allocations as long as jobs need them.
	// RequestsMore says that it does, or that it requests more from a scheduler of an
	// action when jobs have lost their place or are retried.
	AutoSchedule bool                 `json:"auto_schedule"`
	RequestsMore bool                 `json:"looked_after,omitempty"`
	Planned      []PlannedAllocations `json:"planned"`
	Requested    []Allocation         `json:"asked"`               // what Slurm has accepted
	Rejected     []string             `json:"refused"`             // why the rest was not
	Refusals     []ScheduleRefusal    `json:"refusals"`            // the same, classified
	Canceled     []CanceledAllocation `json:"canceled"`            // surplus ones
	ReadyJobs    []ScheduledJobs      `json:"ready_jobs"`          // where they run
	Waits        []ScheduleWait       `json:"waits"`               // what is not requested now
	Text         []string             `json:"text"`                // all of it as text
	Unfit        []UnfitJobs          `json:"unfit,omitempty"`     // jobs that can never run with the present resources
	Unchecked    string               `json:"unchecked,omitempty"` // why that is not known
	NextMS       int64                `json:"next_ms,omitempty"`   // the latest time of the next pass
	// Choices are the sets of allocations that were compared, the chosen one first. There are
	// none without ready jobs, and without a forecast; NoForecast is why there is none.
	Choices    []AllocationChoice `json:"choices"`
	NoForecast string             `json:"no_forecast,omitempty"`
	// NodeSeconds is how long the planned allocations may hold nodes in all, at most;
	// those without a time limit are not in it.
	NodeSeconds int64 `json:"node_seconds,omitempty"`
	// LaterActions counts the schedule_nodes actions that are not triggered yet.
	LaterActions int64 `json:"later_actions,omitempty"`
	// NoAllocation is why the submission leads to no allocation unless something is changed;
	// absent if it leads to some, and of a proposal.
	NoAllocation *Obstacle `json:"no_allocation,omitempty"`
}

// AllocationChoice is a set of allocations that a plan has compared with others, and what is
// expected of it.
type AllocationChoice struct {
	Text              string  `json:"text"`                     // the allocations, for people
	Allocations       int64   `json:"allocations"`              // to request; 0: none
	StartSeconds      int64   `json:"start_seconds"`            // until the first of them starts
	CompletionSeconds int64   `json:"completion_seconds"`       // until the ready jobs have ended
	RemainingJobs     int64   `json:"remaining_jobs,omitempty"` // ready jobs for which it has no room
	CPUHours          float64 `json:"cpu_hours"`                // that its allocations have
	IdleShare         float64 `json:"idle_share"`               // the part of CPUHours that no job uses, 0 to 1
	Chosen            bool    `json:"chosen"`
	Reason            string  `json:"reason"` // why it was chosen, or why not
}

// UnfitJobs are jobs with equal needs that fit no allocation that their workflow can get,
// and none of its runners.
type UnfitJobs struct {
	First  string `json:"first"` // the name of one of them
	Jobs   int64  `json:"jobs"`
	Reason string `json:"reason"` // what they need, and the most that there is
	Text   string `json:"text"`   // all of it in one line
}

// PlannedAllocations are allocations of one kind.
type PlannedAllocations struct {
	ActionID          int64    `json:"action_id,omitempty"` // 0: that of the submission
	Pool              string   `json:"pool"`                // for people: the scheduler or the partition
	SchedulerConfigID *int64   `json:"scheduler_config_id,omitempty"`
	Count             int64    `json:"count"`
	Account           string   `json:"account,omitempty"`
	Partition         string   `json:"partition,omitempty"`
	Nodes             int64    `json:"nodes"`
	CPUs              int64    `json:"cpus,omitempty"` // per node, if known, like the next two
	MemoryBytes       int64    `json:"memory_bytes,omitempty"`
	GPUs              int64    `json:"gpus,omitempty"`
	WalltimeSeconds   int64    `json:"walltime_seconds,omitempty"`
	Exclude           []string `json:"exclude,omitempty"`
	Probe             bool     `json:"probe,omitempty"` // one, to test whether Slurm works again
	Reason            string   `json:"reason"`
}

// NodeSeconds returns how long the allocations may hold nodes in all, at most; 0 if they
// have no time limit.
func (p *PlannedAllocations) NodeSeconds() int64 {
	return p.Count * max(1, p.Nodes) * p.WalltimeSeconds
}

// ScheduleRefusal is why an allocation was not requested, or rejected by Slurm. The daemon
// retries the classes temporary, limit, ambiguous and withheld when that may help. A
// permanent one stays until the request is changed.
type ScheduleRefusal struct {
	Class string `json:"class"`
	Text  string `json:"text"`
}

// CanceledAllocation is an allocation that is no longer needed.
type CanceledAllocation struct {
	AllocationID int64  `json:"allocation_id"`
	Reason       string `json:"reason"`
}

// ScheduledJobs says where the ready jobs of one kind will run.
type ScheduledJobs struct {
	Ready     int64  `json:"ready"`
	Live      int64  `json:"live"`      // have room in live allocations
	Pending   int64  `json:"pending"`   // have room in pending ones
	Requested int64  `json:"asked"`     // have room in those that are requested now
	Uncovered int64  `json:"uncovered"` // have no place
	Reason    string `json:"reason,omitempty"`

	CPUs           int64 `json:"cpus"`
	MemoryBytes    int64 `json:"memory_bytes"`
	GPUs           int64 `json:"gpus"`
	Nodes          int64 `json:"nodes"`
	RuntimeSeconds int64 `json:"runtime_seconds"`
}

// ScheduleWait is why something is not requested now.
type ScheduleWait struct {
	Kind    string `json:"kind"` // wait, pause
	Pool    string `json:"pool,omitempty"`
	UntilMS int64  `json:"until_ms,omitempty"` // 0: until something changes
	Reason  string `json:"reason"`
}
