package action

import (
	"encoding/json"
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// TriggerAutoSchedule makes the daemon request allocations whenever there are ready jobs
// that no allocation will take. Only the daemon carries the action out, so it is never
// pending, and runners cannot claim it.
const TriggerAutoSchedule = "auto_schedule_on_ready_jobs"

// ValidateAutoSchedule returns an error of CodeInvalid if the limits are not valid.
func ValidateAutoSchedule(l *workflow.AutoSchedule) error {
	config, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("write the limits of %s: %w", TriggerAutoSchedule, err)
	}
	return ValidateConfig(TriggerAutoSchedule, ScheduleNodes, config)
}

// NodesConfig is the config of a schedule_nodes action.
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

// IsAutoSchedule reports whether only the daemon carries the action out, as long as the
// run lasts.
func (a *Record) IsAutoSchedule() bool { return a.TriggerType == TriggerAutoSchedule }

// ScheduleNodes returns the decoded config of a schedule_nodes action, or an error if it
// is not valid JSON.
func (a *Record) ScheduleNodes() (c NodesConfig, err error) {
	if err := json.Unmarshal(a.Config, &c); err != nil {
		return c, fmt.Errorf("read the config of action %d: %w", a.ID, err)
	}
	return c, nil
}
