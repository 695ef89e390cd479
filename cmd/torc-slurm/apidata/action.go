package apidata

import (
	"encoding/json"
	"fmt"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/workflow/action"
)

// ActionAllocations is how many allocations an action asks for.
func ActionAllocations(x api.Action) string {
	switch {
	case x.ActionType != action.ScheduleNodes:
		return ""
	case x.TriggerType == action.TriggerAutoSchedule:
		return "as needed"
	}
	var config struct {
		NumAllocations *int64 `json:"num_allocations"`
	}
	if json.Unmarshal(x.ActionConfig, &config) != nil || config.NumAllocations == nil {
		return "1"
	}
	return fmt.Sprint(*config.NumAllocations)
}

// ActionStatus says how far an action is.
func ActionStatus(x api.Action) string {
	switch {
	case x.TriggerType == action.TriggerAutoSchedule:
		return "automatic"
	case x.Executed != nil && *x.Executed:
		return "executed"
	case cli.OrZero(x.TriggerCount) >= cli.OrZero(x.RequiredTriggers):
		return "pending"
	}
	return "waiting"
}
