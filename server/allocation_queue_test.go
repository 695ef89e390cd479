package server

import (
	"strings"
	"testing"

	"github.com/torc-slurm/torc-slurm/allocation"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// TestDoubtfulAnswerIsShown: what sbatch said says more than that it was not
// clear.
func TestDoubtfulAnswerIsShown(t *testing.T) {
	asked := store.QueuedAllocation{Allocation: workflow.Allocation{State: workflow.AllocationIntent}}
	if text := fromQueued(&asked, allocation.Sight{}).ReasonText; !strings.HasPrefix(text, "sbatch runs") {
		t.Errorf("without an answer: %q", text)
	}
	asked.SlurmReason = "sbatch: Socket timed out"
	if text := fromQueued(&asked, allocation.Sight{}).ReasonText; !strings.HasSuffix(text, asked.SlurmReason) {
		t.Errorf("with an answer: %q", text)
	}
}
