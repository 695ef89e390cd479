package handler

import (
	"strings"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/allocation"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// TestDoubtfulAnswerIsShown: the text of sbatch says more than that its answer was
// unclear.
func TestDoubtfulAnswerIsShown(t *testing.T) {
	asked := store.QueuedAllocation{Allocation: compute.Allocation{State: compute.AllocationIntent}}
	if text := fromQueued(&asked, allocation.QueueSnapshot{}, 0).ReasonText; !strings.HasPrefix(text, "sbatch runs") {
		t.Errorf("without an answer: %q", text)
	}
	asked.SlurmReason = "sbatch: Socket timed out"
	if text := fromQueued(&asked, allocation.QueueSnapshot{}, 0).ReasonText; !strings.HasSuffix(text, asked.SlurmReason) {
		t.Errorf("with an answer: %q", text)
	}
}

// TestExpectedStart: Slurm's estimate precedes that of the plan.
func TestExpectedStart(t *testing.T) {
	pending := store.QueuedAllocation{Allocation: compute.Allocation{State: compute.AllocationPending, SlurmJobID: 7, AskedMS: 1000}}
	pending.Request.Expected = &compute.AllocationExpectation{WaitS: 10, HighS: 60}
	if q := fromQueued(&pending, allocation.QueueSnapshot{}, 2000); q.EstimatedStartMS != 0 || q.ExpectedStartMS != 11_000 {
		t.Errorf("without an estimate: %d, %d", q.EstimatedStartMS, q.ExpectedStartMS)
	}
	seen := allocation.QueueSnapshot{Jobs: map[int64]slurm.Job{7: {State: "PENDING", Start: time.UnixMilli(50_000)}}}
	if q := fromQueued(&pending, seen, 2000); q.EstimatedStartMS != 50_000 || q.ExpectedStartMS != 50_000 {
		t.Errorf("with an estimate: %d, %d", q.EstimatedStartMS, q.ExpectedStartMS)
	}
}
