package explain

import (
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// RecentAlerts holds the latest alerts of a job or a workflow, newest first.
type RecentAlerts struct {
	Latest []workflow.RaisedAlert
	Count  int64 // of all alerts, including those not in Latest
}

// lines returns one line for each of the latest alerts, and how many more there were.
func (a RecentAlerts) lines(nowMS int64) []string {
	var lines []string
	for _, r := range a.Latest {
		lines = append(lines, fmt.Sprintf("%s ago, %s: %s", workflow.AgoMS(r.AtMS, nowMS), r.Kind, r.Subject))
	}
	if more := a.Count - int64(len(a.Latest)); more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return lines
}
