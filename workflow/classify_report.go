package workflow

import "fmt"

// ClassifyReport names the cause of an attempt that a torc client reports. Such
// a client says how an attempt ended, not why, so that the name is a guess
// where it is not plain; the return code stays as reported, and the status too,
// save that an attempt that is reported as pending_failed has failed: its job is
// to be held.
func ClassifyReport(status JobStatus, returnCode int64, codes ReturnCodes) Cause {
	c := Cause{Kind: CauseExit, Confidence: Likely, Status: status, ReturnCode: returnCode,
		Text: fmt.Sprintf("reported as %s with return code %d", status, returnCode)}
	if status == PendingFailed {
		c.Status, c.HoldAsked = Failed, true
	}
	switch {
	case status == Completed:
		c.Kind, c.Confidence = CauseOK, Certain
	case status == Canceled:
		c.Kind = CauseCanceledUser
	case status == Terminated:
		c.Kind = CauseWalltime
	case returnCode == ReturnCodeLost:
		c.Kind = CauseLost
	case returnCode == codes.timeout():
		c.Kind, c.Confidence = CauseTimeout, Guess
	case returnCode == codes.oom():
		c.Kind, c.Confidence = CauseOOM, Guess
	case signalOfCode(returnCode) != 0:
		c.Kind = CauseSignal
	}
	return c
}
