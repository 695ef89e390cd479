package explain

import (
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// breakerLines returns one line for each open breaker.
func breakerLines(trips []workflow.BreakerTrip, nowMS int64) []string {
	var lines []string
	for i := range trips {
		t := &trips[i]
		lines = append(lines, fmt.Sprintf("%s -> %s, for another %s (breakers reset %d)", t.Reason, t.Action, workflow.AgoMS(nowMS, t.UntilMS), t.ID))
	}
	return lines
}
