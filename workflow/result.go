package workflow

// Result is torc's view of an attempt that ended: one per (job, run, attempt).
type Result struct {
	ID              int64
	JobID           int64
	WorkflowID      int64
	RunID           int64
	AttemptID       int64
	ComputeNodeID   int64
	ReturnCode      int64
	ExecTimeMinutes float64
	CompletionTime  string // as the client wrote it, RFC 3339
	Status          JobStatus
	PeakMemoryBytes *int64
	AvgMemoryBytes  *int64
	PeakCPUPercent  *float64
	AvgCPUPercent   *float64
	JobName         string // only when read
	Cause           string // why the attempt ended; only when read, empty if only the result is known
	CauseText       string // why the attempt ended, in one line; only in lists that include attempts without a result
}
