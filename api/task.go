package api

import "github.com/torc-slurm/torc-slurm/workflow"

// Task is work that the daemon does in the background.
type Task = workflow.Task

// ActiveTask is the answer to GET /workflows/{id}/active_task.
type ActiveTask struct {
	Task *Task `json:"task"` // null if there is none
}
