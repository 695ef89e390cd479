package scheduler

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// TestNodesOfFailures are those on which the last allocations did no work: one of
// several nodes blames none, and nor does what we canceled.
func TestNodesOfFailures(t *testing.T) {
	failed := func(nodes string) store.AskedAllocation {
		return store.AskedAllocation{EndMS: 1, Cause: compute.AllocationFailed, NodeList: nodes}
	}
	h := history{
		failed("n3"), failed("n1"), failed("n[4-5]"), failed("n6,n8"), failed("n3"),
		{EndMS: 1, Cause: compute.AllocationCanceled, NodeList: "n7"},
		{EndMS: 1, Cause: compute.AllocationRefused, Refusal: string(slurm.Permanent)},
		{EndMS: 1, Cause: compute.AllocationDone, NodeList: "n2", Worked: true},
		failed("n9"),
	}
	f := h.failures()
	if diff := cmp.Diff([]string{"n1", "n3"}, f.Nodes); diff != "" || f.InARow != 6 {
		t.Errorf("%d failures in a row, want 6; nodes:\n%s", f.InARow, diff)
	}
}

// TestWhatNeverCame counts as a failure: otherwise requests of which nothing is
// heard would be repeated forever.
func TestWhatNeverCame(t *testing.T) {
	never := store.AskedAllocation{EndMS: 1, Cause: compute.AllocationNever, CauseText: "Slurm knows no such job"}
	if f := (history{never, never}).failures(); f.InARow != 2 || f.Refused || f.Reason != never.CauseText {
		t.Errorf("%+v", f)
	}
}

// TestWhatNeverStarts: what Slurm took and could never start counts as its no for
// good, though we canceled it; what we canceled for another reason does not.
func TestWhatNeverStarts(t *testing.T) {
	never := store.AskedAllocation{EndMS: 1, Cause: compute.AllocationCanceled, Refusal: string(slurm.Permanent), CauseText: "InvalidQOS"}
	idle := store.AskedAllocation{EndMS: 1, Cause: compute.AllocationCanceled}
	if f := (history{never, idle, never}).failures(); f.InARow != 2 || !f.Refused || f.Reason != never.CauseText {
		t.Errorf("%+v", f)
	}
	if hold := (history{never}).hold(&Settings{}); hold != nil {
		t.Errorf("held back as if it passed: %+v", hold)
	}
}
