package api

// TaskStatus is the state of a background task.
type TaskStatus string

// The task statuses.
const (
	TaskQueued    TaskStatus = "queued"
	TaskRunning   TaskStatus = "running"
	TaskSucceeded TaskStatus = "succeeded"
	TaskFailed    TaskStatus = "failed"
)

// Task is work that the daemon does in the background.
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

// ActiveTask is the answer to GET /workflows/{id}/active_task.
type ActiveTask struct {
	Task *Task `json:"task"` // null if there is none
}
