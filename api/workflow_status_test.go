package api

import (
	"testing"

	"github.com/torc-slurm/torc-slurm/workflow/hold"
)

func TestHeldWorkflows(t *testing.T) {
	forever, expires := []hold.ClaimHold{{}}, []hold.ClaimHold{{UntilMS: 1}}
	for name, tc := range map[string]struct {
		status                 WorkflowStatus
		onlyHeld, indefinitely bool
	}{
		"nothing is held":             {WorkflowStatus{JobsByStatus: JobCounts{Ready: 2}}, false, false},
		"all others have ended":       {WorkflowStatus{JobsByStatus: JobCounts{PendingFailed: 1, Completed: 3}}, true, false},
		"another job is ready":        {WorkflowStatus{JobsByStatus: JobCounts{PendingFailed: 1, Ready: 1}}, false, false},
		"claims are held":             {WorkflowStatus{JobsByStatus: JobCounts{Ready: 1}, ClaimHolds: forever}, false, true},
		"claims are held for a while": {WorkflowStatus{JobsByStatus: JobCounts{Ready: 1}, ClaimHolds: expires}, false, false},
		"a job still runs":            {WorkflowStatus{JobsByStatus: JobCounts{Ready: 1, Running: 1}, ClaimHolds: forever}, false, false},
		"the run was canceled":        {WorkflowStatus{IsCanceled: true, ClaimHolds: forever}, false, false},
		"the run is complete":         {WorkflowStatus{IsComplete: true, ClaimHolds: forever}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.status.OnlyHeld(); got != tc.onlyHeld {
				t.Errorf("only held: %t", got)
			}
			if got := tc.status.HeldIndefinitely(); got != tc.indefinitely {
				t.Errorf("held indefinitely: %t", got)
			}
		})
	}
}
