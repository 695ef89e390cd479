package apidata

import (
	"fmt"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
)

// SlurmID is the Slurm job, with its restart count if Slurm has restarted it.
func SlurmID(x api.QueuedAllocation) string {
	switch {
	case x.SlurmJobID == 0:
		return ""
	case x.RestartCount > 0:
		return fmt.Sprintf("%d (restart %d)", x.SlurmJobID, x.RestartCount)
	}
	return fmt.Sprint(x.SlurmJobID)
}

// LiveAllocations selects the allocations of a workflow that have not ended.
func LiveAllocations(id int64) client.AllocationFilter {
	return client.AllocationFilter{WorkflowID: id, Live: true}
}
