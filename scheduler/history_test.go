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

// A node of an allocation with several nodes may be the cause of its failure, so the next ones are
// small until one with several nodes has worked.
func TestWideFailures(t *testing.T) {
	on := func(nodes string, worked bool) store.AskedAllocation {
		return store.AskedAllocation{EndMS: 1, Cause: compute.AllocationFailed, NodeList: nodes, Worked: worked}
	}
	live := store.AskedAllocation{NodeList: "n[1-4]"}
	for name, tc := range map[string]struct {
		history history
		want    bool
	}{
		"none":                         {nil, false},
		"one node":                     {history{on("n1", false)}, false},
		"several nodes":                {history{on("n[1-4]", false)}, true},
		"one node has worked since":    {history{on("n2", true), on("n1,n3", false)}, true},
		"several nodes worked since":   {history{on("n[2-3]", true), on("n[1-4]", false)}, false},
		"the latest is only beginning": {history{live, on("n[1-4]", false)}, true},
	} {
		if got := tc.history.failures().Wide; got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
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
