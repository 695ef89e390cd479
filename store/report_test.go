package store

import (
	"testing"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// A job that was never started has no attempt, whatever a runner reports; its other
// reports are recorded nevertheless.
func TestReportOfWhatWasNeverStarted(t *testing.T) {
	r := newRig(t, independent(2)...)
	h := r.hand("n1", 2)
	h.turn()
	never := lease.Report{LeaseRef: h.held[0].LeaseRef, Evidence: workflow.Evidence{NeverStarted: true}}
	h.free.Slots = 0
	answer := h.turn(never, exited(h.held[1].LeaseRef, 0))
	if answer.Results[0].Outcome != lease.Refused || answer.Results[1].Outcome != lease.Accepted {
		t.Errorf("results %+v, want the first refused and the second accepted", answer.Results)
	}
	r.want(workflow.Pending, workflow.Completed)
}
