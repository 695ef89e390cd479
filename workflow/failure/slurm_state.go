package failure

import "github.com/torc-slurm/torc-slurm/workflow/compute"

// Slurm's names for how a job, a step or an allocation ended; REQUEUED is the end of
// one start of a job.
const (
	Completed    = "COMPLETED"
	Failed       = "FAILED"
	LaunchFailed = "LAUNCH_FAILED"
	ReconfigFail = "RECONFIG_FAIL"
	OutOfMemory  = "OUT_OF_MEMORY"
	Timeout      = "TIMEOUT"
	Deadline     = "DEADLINE"
	NodeFail     = "NODE_FAIL"
	BootFail     = "BOOT_FAIL"
	Preempted    = "PREEMPTED"
	Requeued     = "REQUEUED"
	Cancelled    = "CANCELLED"
)

// Suspended is not an end: processes in such a job are silent, but not lost.
const Suspended = "SUSPENDED"

// causes has the cause for each state.
var causes = map[string]compute.AllocationCause{
	Completed:    compute.AllocationDone,
	Failed:       compute.AllocationFailed,
	LaunchFailed: compute.AllocationFailed,
	ReconfigFail: compute.AllocationFailed,
	OutOfMemory:  compute.AllocationOOM,
	Timeout:      compute.AllocationWalltime,
	Deadline:     compute.AllocationWalltime,
	NodeFail:     compute.AllocationNodeFail,
	BootFail:     compute.AllocationNodeFail,
	Preempted:    compute.AllocationPreempted,
	Requeued:     compute.AllocationRequeued,
	Cancelled:    compute.AllocationCanceledUser,
}
