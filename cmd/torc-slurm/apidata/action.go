package apidata

import (
	"encoding/json"
	"fmt"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/workflow/action"
)

// ActionAllocations returns how many allocations an action requests, as text.
func ActionAllocations(x api.Action) string {
	switch {
	case x.ActionType != action.ScheduleNodes:
		return ""
	case x.Status == action.StatusAutomatic:
		return "as needed"
	}
	return fmt.Sprint(ActionCount(x))
}

// ActionCount returns how many allocations an action requests once it is triggered.
func ActionCount(x api.Action) int64 {
	var config action.NodesConfig
	_ = json.Unmarshal(x.ActionConfig, &config) // without a valid number the default counts
	return config.Count()
}
