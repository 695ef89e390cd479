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
	JobName         string // of reads only
	Cause           string // why the attempt ended; of reads only, empty for one of which only the result is known
	CauseText       string // the same in a line; of lists that have attempts without a result
}
