package failure_test

import (
	"testing"

	. "github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/failure"
	"github.com/torc-slurm/torc-slurm/workflow/retry"
)

func TestClassifyReport(t *testing.T) {
	tests := []struct {
		status JobStatus
		code   int64
		want   CauseKind
		action Action
	}{
		{Completed, 0, CauseOK, ActionNone},
		{Canceled, 137, CauseCanceledUser, ActionNone},
		{Terminated, 152, CauseWalltime, ActionFail},
		{Failed, 1, CauseExit, ActionFail},
		{Failed, 0, CauseExit, ActionFail},
		{Failed, 137, CauseOOM, ActionFail},
		{Failed, 139, CauseSignal, ActionFail},
		{Failed, 152, CauseTimeout, ActionFail},
		{Failed, -128, CauseLost, ActionFail},
		{PendingFailed, 3, CauseExit, ActionHold},
	}
	for _, tt := range tests {
		c := failure.ClassifyReport(tt.status, tt.code, ReturnCodes{})
		attempt := tt.status
		if attempt == PendingFailed {
			attempt = Failed
		}
		if c.Kind != tt.want || c.Status != attempt || c.ReturnCode != tt.code || c.Text == "" {
			t.Errorf("%s, %d: %+v", tt.status, tt.code, c)
		}
		d := retry.Decide(retry.Facts{Policies: retry.Policies{Default: retry.DefaultPolicy(), UsePendingFailed: true}, History: History{ReportedByOld: true}, Failure: Failure{Cause: c}})
		if d.Action != tt.action {
			t.Errorf("%s, %d: %s, %s", tt.status, tt.code, d.Action, d.Reason)
		}
	}
	if c := failure.ClassifyReport(Failed, 9, ReturnCodes{OOM: 9}); c.Kind != CauseOOM {
		t.Errorf("the workflow's own OOM code: %s", c.Kind)
	}
}
