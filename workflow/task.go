package workflow

// TaskStatus is the status of a background task.
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
	ID           int64      `json:"id"`
	WorkflowID   int64      `json:"workflow_id"`
	Operation    string     `json:"operation"`
	Status       TaskStatus `json:"status"`
	CreatedAtMS  int64      `json:"created_at_ms"`
	StartedAtMS  *int64     `json:"started_at_ms,omitempty"`
	FinishedAtMS *int64     `json:"finished_at_ms,omitempty"`
	Error        *string    `json:"error,omitempty"`
}
