package explain

import (
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
)

// claimHoldLines says why claims are held, since when and until when.
func claimHoldLines(h hold.ClaimHolds, nowMS int64) []string {
	var lines []string
	for i := range h {
		line := fmt.Sprintf("%s, for %s", h[i].Reason, workflow.AgoMS(h[i].SinceMS, nowMS))
		if until := h[i].UntilMS; until != 0 {
			line += fmt.Sprintf("; ends in %s", workflow.AgoMS(nowMS, until))
		} else {
			line += "; until somebody lifts it"
		}
		lines = append(lines, line)
	}
	return lines
}

// claimHoldNext says what has to happen before jobs are claimed again.
func claimHoldNext(h hold.ClaimHolds, workflowID, nowMS int64) string {
	if until := h.UntilMS(); until != 0 {
		return fmt.Sprintf("claims go on in %s, or when somebody lifts the hold (workflows resume %d)", workflow.AgoMS(nowMS, until), workflowID)
	}
	for i := range h {
		if h[i].Kind == hold.HoldMaxFailures {
			return fmt.Sprintf("somebody lifts the hold of claims (workflows resume %d), raises max_failures (workflows update), or cancels or resets the workflow; what runs goes on", workflowID)
		}
	}
	return fmt.Sprintf("somebody lifts the hold of claims (workflows resume %d), or cancels or resets the workflow; what runs goes on", workflowID)
}
