package retry

import (
	"fmt"
	"slices"
	"time"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// unreachableDelay is how long a retry waits if the previous attempt may still be running on
// a node that cannot be reached.
const unreachableDelay = 2 * time.Minute

// withoutHold returns the decision with fail instead of hold, for jobs that are never held.
func withoutHold(p *Policies, d workflow.Decision) workflow.Decision {
	if !p.NeverHeld || d.Action != workflow.ActionHold {
		return d
	}
	d.Action = workflow.ActionFail
	d.Reason += "; it is not held, because the end of the run would wait for a decision"
	return d
}

func noneReason(c workflow.Cause) string {
	if c.Status == workflow.Canceled {
		return "canceled: no retry"
	}
	return "successful"
}

// handlerApplies reports whether failure handlers apply to a cause: only if the command
// itself failed.
func handlerApplies(c workflow.Cause) bool {
	return slices.Contains([]workflow.CauseKind{workflow.CauseExit, workflow.CauseSignal, workflow.CauseOOM, workflow.CauseTimeout, workflow.CauseOutputMissing}, c.Kind)
}

func unmatchedReason(handler *workflow.FailureHandlerDefinition, c workflow.Cause) string {
	switch {
	case handler == nil:
		return fmt.Sprintf("no rule for cause %s", c.Kind)
	case !handlerApplies(c):
		return fmt.Sprintf("no rule for cause %s, to which failure handlers do not apply", c.Kind)
	}
	return fmt.Sprintf("no rule of handler %s for return code %d", handler.Name, c.ReturnCode)
}
