package explain

import (
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
)

// claimHoldLines returns why claims are held, for how long so far, and until when.
func claimHoldLines(h hold.ClaimHolds, nowMS int64) []string {
	var lines []string
	for i := range h {
		line := fmt.Sprintf("%s; held for %s", h[i].Reason, workflow.AgoMS(h[i].SinceMS, nowMS))
		if until := h[i].UntilMS; until != 0 {
			line += fmt.Sprintf(", ends in %s", workflow.AgoMS(nowMS, until))
		} else {
			line += ", until a user lifts the hold"
		}
		lines = append(lines, line)
	}
	return lines
}

// claimHoldNext returns what has to happen before jobs are claimed again.
func claimHoldNext(h hold.ClaimHolds, workflowID, nowMS int64) string {
	if until := h.UntilMS(); until != 0 {
		return fmt.Sprintf("claims resume in %s, or when a user lifts the hold (workflows resume %d)", workflow.AgoMS(nowMS, until), workflowID)
	}
	if len(h) == 1 && h.Paused() != nil {
		return fmt.Sprintf("`torc-slurm resume %d` ends the pause; running jobs continue", workflowID)
	}
	for i := range h {
		if h[i].Kind == hold.HoldMaxFailures {
			return fmt.Sprintf("a user has to lift the hold (workflows resume %d), raise max_failures (workflows update), or cancel or reset the workflow; running jobs continue", workflowID)
		}
	}
	return fmt.Sprintf("a user has to lift the hold (workflows resume %d), or cancel or reset the workflow; running jobs continue", workflowID)
}
