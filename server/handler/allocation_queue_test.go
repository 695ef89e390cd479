package handler

import (
	"strings"
	"testing"

	"github.com/torc-slurm/torc-slurm/allocation"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// TestDoubtfulAnswerIsShown: the text of sbatch says more than that its answer was
// unclear.
func TestDoubtfulAnswerIsShown(t *testing.T) {
	asked := store.QueuedAllocation{Allocation: compute.Allocation{State: compute.AllocationIntent}}
	if text := fromQueued(&asked, allocation.QueueSnapshot{}).ReasonText; !strings.HasPrefix(text, "sbatch runs") {
		t.Errorf("without an answer: %q", text)
	}
	asked.SlurmReason = "sbatch: Socket timed out"
	if text := fromQueued(&asked, allocation.QueueSnapshot{}).ReasonText; !strings.HasSuffix(text, asked.SlurmReason) {
		t.Errorf("with an answer: %q", text)
	}
}
