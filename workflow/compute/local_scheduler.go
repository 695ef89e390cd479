package compute

// LocalScheduler says how much of this machine a local runner may use.
type LocalScheduler struct {
	ID         int64
	WorkflowID int64
	Memory     string
	NumCPUs    int64
}
