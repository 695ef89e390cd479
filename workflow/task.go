package workflow

// TaskStatus is where a background task stands.
type TaskStatus string

// The statuses of a task.
const (
	TaskQueued    TaskStatus = "queued"
	TaskRunning   TaskStatus = "running"
	TaskSucceeded TaskStatus = "succeeded"
	TaskFailed    TaskStatus = "failed"
)

// OperationInitializeJobs is the only operation that runs as a task.
const OperationInitializeJobs = "initialize_jobs"

// Task is work that the daemon does in the background for a client.
type Task struct {
	ID           int64
	WorkflowID   int64
	Operation    string
	Status       TaskStatus
	CreatedAtMS  int64
	StartedAtMS  *int64
	FinishedAtMS *int64
	Error        *string
}
