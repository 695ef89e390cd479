package workflows

import (
	"strings"
	"testing"

	"github.com/torc-slurm/torc-slurm/api"
)

// TestVerdictLine: a workflow that waits for Slurm is not told to be run here.
func TestVerdictLine(t *testing.T) {
	status := api.WorkflowStatus{WorkflowID: 7, TotalJobs: 2, JobsByStatus: api.JobCounts{Ready: 2}}
	if line := verdictLine(&status, "torc-slurm"); !strings.Contains(line, "`torc-slurm run 7`") {
		t.Errorf("without allocations: %s", line)
	}
	status.PendingScheduledNodes = 1
	if line := verdictLine(&status, "torc-slurm"); !strings.Contains(line, "`torc-slurm sq 7`") {
		t.Errorf("with one that waits: %s", line)
	}
	status.ActiveScheduledNodes, status.ActiveComputeNodes = 1, 1
	if line := verdictLine(&status, "torc-slurm"); line != "The workflow is running." {
		t.Errorf("with a runner: %s", line)
	}
}
