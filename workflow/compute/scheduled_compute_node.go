package compute

// The statuses of a scheduled compute node that torc's clients use; the field
// is free text.
const (
	ScheduledPending  = "pending"
	ScheduledActive   = "active"
	ScheduledComplete = "complete"
	ScheduledCanceled = "canceled"
)

// ScheduledNode is an allocation as torc's clients see it.
type ScheduledNode struct {
	ID                int64
	WorkflowID        int64
	SchedulerID       int64 // Slurm job id
	SchedulerConfigID int64
	SchedulerType     string
	Status            string
}
