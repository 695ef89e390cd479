package action

import (
	"encoding/json"
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// TriggerAutoSchedule is no point of time: as long as jobs are ready that no
// allocation will take, the daemon asks Slurm for some. It alone carries the
// action out, so the action is never pending, and nobody can claim it.
const TriggerAutoSchedule = "auto_schedule_on_ready_jobs"

// ValidateAutoSchedule says what is wrong with limits.
func ValidateAutoSchedule(l *workflow.AutoSchedule) error {
	config, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("write the limits of %s: %w", TriggerAutoSchedule, err)
	}
	return ValidateConfig(TriggerAutoSchedule, ScheduleNodes, config)
}

// NodesConfig is the config of an action schedule_nodes.
type NodesConfig struct {
	SchedulerID           *int64 `json:"scheduler_id,omitempty"`
	SchedulerType         string `json:"scheduler_type,omitempty"`
	NumAllocations        int64  `json:"num_allocations,omitempty"`
	StartOneWorkerPerNode bool   `json:"start_one_worker_per_node,omitempty"`
	MaxParallelJobs       int64  `json:"max_parallel_jobs,omitempty"`
	workflow.AutoSchedule
}

// Count returns how many allocations an action requests once it is triggered. The default
// and the minimum are 1.
func (c *NodesConfig) Count() int64 { return max(c.NumAllocations, 1) }

// IsAutoSchedule reports whether the daemon alone carries the action out, for
// as long as the run lasts.
func (a *Record) IsAutoSchedule() bool { return a.TriggerType == TriggerAutoSchedule }

// ScheduleNodes reads the config of an action schedule_nodes.
func (a *Record) ScheduleNodes() (c NodesConfig, err error) {
	if err := json.Unmarshal(a.Config, &c); err != nil {
		return c, fmt.Errorf("read the config of action %d: %w", a.ID, err)
	}
	return c, nil
}
