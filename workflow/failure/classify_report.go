package failure

import (
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// ClassifyReport returns the cause of an attempt that a torc client reports. Such a client
// reports how an attempt ended, not why, so that the cause may be a guess. The return code
// and the status stay as reported, except that pending_failed becomes failed with
// HoldAsked.
func ClassifyReport(status workflow.JobStatus, returnCode int64, codes workflow.ReturnCodes) workflow.Cause {
	c := workflow.Cause{Kind: workflow.CauseExit, Confidence: workflow.Likely, Status: status, ReturnCode: returnCode,
		Text: fmt.Sprintf("reported as %s with return code %d", status, returnCode)}
	if status == workflow.PendingFailed {
		c.Status, c.HoldAsked = workflow.Failed, true
	}
	switch {
	case status == workflow.Completed:
		c.Kind, c.Confidence = workflow.CauseOK, workflow.Certain
	case status == workflow.Canceled:
		c.Kind = workflow.CauseCanceledUser
	case status == workflow.Terminated:
		c.Kind = workflow.CauseWalltime
	case returnCode == workflow.ReturnCodeLost:
		c.Kind = workflow.CauseLost
	case returnCode == codes.TimeoutCode():
		c.Kind, c.Confidence = workflow.CauseTimeout, workflow.Guess
	case returnCode == codes.OOMCode():
		c.Kind, c.Confidence = workflow.CauseOOM, workflow.Guess
	case signalOfCode(returnCode) != 0:
		c.Kind = workflow.CauseSignal
	}
	return c
}
