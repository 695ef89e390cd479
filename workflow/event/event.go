// Package event has the entries of a workflow's log, their severities and their data.
package event

import (
	"encoding/json"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// The values of data.category, by which torc's clients filter.
const (
	CategoryUser      = "user_action"
	CategoryWorkflow  = "workflow"
	CategoryScheduler = "scheduler"
	CategoryTasks     = "tasks"
	CategoryJob       = "job"
	CategoryAlert     = "alert"
	CategoryMemory    = "memory"
)

// Event is one entry of a workflow's log. Seq has no gaps within a workflow.
type Event struct {
	ID          int64
	WorkflowID  int64
	Seq         int64
	TimestampMS int64
	Type        workflow.EventType
	Severity    Severity
	Data        json.RawMessage
}

// OfStatus returns the type and severity of the event for a job that reached a status; ok
// is false for statuses without an event.
func OfStatus(s workflow.JobStatus) (t workflow.EventType, severity Severity, ok bool) {
	switch s {
	case workflow.Running:
		return workflow.EventJobStarted, SeverityInfo, true
	case workflow.Completed:
		return workflow.EventJobCompleted, SeverityInfo, true
	case workflow.Failed:
		return workflow.EventJobFailed, SeverityError, true
	case workflow.Canceled:
		return workflow.EventJobCanceled, SeverityWarning, true
	case workflow.Terminated:
		return workflow.EventJobTerminated, SeverityWarning, true
	case workflow.PendingFailed:
		return workflow.EventJobPendingFailed, SeverityInfo, true
	}
	return "", "", false
}
