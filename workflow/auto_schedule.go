package workflow

import (
	"encoding/json"
	"fmt"
)

// TriggerAutoSchedule is no point of time: as long as jobs are ready that no
// allocation will take, the daemon asks Slurm for some. It alone carries the
// action out, so the action is never pending, and nobody can claim it.
const TriggerAutoSchedule = "auto_schedule_on_ready_jobs"

// AutoSchedule are the limits of such an action. What is 0 or empty has its
// default; durations are written as ISO 8601.
type AutoSchedule struct {
	MinReadyJobs       int64  `json:"min_ready_jobs,omitempty"`
	MaxReadyAge        string `json:"max_ready_age,omitempty"`
	MaxAllocations     int64  `json:"max_allocations,omitempty"`
	MaxSubmitPerMinute int64  `json:"max_submit_per_minute,omitempty"`
	// IdleTimeout is how long a runner stays without work.
	IdleTimeout string `json:"idle_timeout,omitempty"`
	GiveUpAfter int64  `json:"give_up_after,omitempty"`
}

// Validate says what is wrong with limits.
func (l *AutoSchedule) Validate() error {
	config, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("write the limits of %s: %w", TriggerAutoSchedule, err)
	}
	return ValidateActionConfig(TriggerAutoSchedule, ActionScheduleNodes, config)
}

// ScheduleNodes is the config of an action schedule_nodes.
type ScheduleNodes struct {
	SchedulerID           *int64 `json:"scheduler_id,omitempty"`
	SchedulerType         string `json:"scheduler_type,omitempty"`
	NumAllocations        int64  `json:"num_allocations,omitempty"`
	StartOneWorkerPerNode bool   `json:"start_one_worker_per_node,omitempty"`
	MaxParallelJobs       int64  `json:"max_parallel_jobs,omitempty"`
	AutoSchedule
}

// IsAutoSchedule reports whether the daemon alone carries the action out, for
// as long as the run lasts.
func (a *ActionRecord) IsAutoSchedule() bool { return a.TriggerType == TriggerAutoSchedule }

// ScheduleNodes reads the config of an action schedule_nodes.
func (a *ActionRecord) ScheduleNodes() (c ScheduleNodes, err error) {
	if err := json.Unmarshal(a.Config, &c); err != nil {
		return c, fmt.Errorf("read the config of action %d: %w", a.ID, err)
	}
	return c, nil
}
