package workflow

import "encoding/json"

// EventType names what an event reports.
type EventType string

// The types of torc's events. User actions, the wish to cancel and retries are
// torc's persistent events; the others are those of its event stream, which we
// keep as well.
const (
	EventUserAction            EventType = "user_action"
	EventWorkflowCanceled      EventType = "workflow_canceled" // the wish; and the verdict, see EndPayload
	EventJobRetried            EventType = "job_retried"
	EventWorkflowStarted       EventType = "workflow_started"       // initialised, only what was uninitialised
	EventWorkflowReinitialized EventType = "workflow_reinitialized" // initialised in full
	EventJobStarted            EventType = "job_started"
	EventJobCompleted          EventType = "job_completed"
	EventJobFailed             EventType = "job_failed"
	EventJobCanceled           EventType = "job_canceled"
	EventJobTerminated         EventType = "job_terminated"
	EventJobPendingFailed      EventType = "job_pending_failed"
	EventComputeNodeStarted    EventType = "compute_node_started"
	EventComputeNodeStopped    EventType = "compute_node_stopped"
	EventSchedulerNodeCreated  EventType = "scheduler_node_created"
	EventTaskCompleted         EventType = "task_completed"
)

// The types of our own events.
const (
	EventWorkflowCompleted EventType = "workflow_completed" // the verdict of a run
	EventWorkflowFailed    EventType = "workflow_failed"    // the verdict of a run
	EventWorkflowReopened  EventType = "workflow_reopened"  // a run with a verdict goes on
	EventJobsSkipped       EventType = "jobs_skipped"       // a cascade, as one event
	EventSiblingsCanceled  EventType = "siblings_canceled"  // live jobs are ended, as another one failed
	EventJobsNotNeeded     EventType = "jobs_not_needed"    // the same of jobs that run after failures
	EventJobRecovered      EventType = "job_recovered"      // a recovery script ended
	EventJobClassified     EventType = "job_classified"     // a hold ended
	EventReportLate        EventType = "report_late"        // an old fence: kept, without effect
)

// CategoryUser and the others are data.category, by which torc's clients filter.
const (
	CategoryUser      = "user_action"
	CategoryWorkflow  = "workflow"
	CategoryScheduler = "scheduler"
	CategoryTasks     = "tasks"
	CategoryJob       = "job"
)

// Event is one entry of a workflow's log. Seq has no gap within a workflow.
type Event struct {
	ID          int64
	WorkflowID  int64
	Seq         int64
	TimestampMS int64
	Type        EventType
	Severity    Severity
	Data        json.RawMessage
}

// JobEvent returns the type and severity of the event that a job has reached a
// status; ok is false for statuses that no event reports.
func JobEvent(s JobStatus) (t EventType, severity Severity, ok bool) {
	switch s {
	case Running:
		return EventJobStarted, SeverityInfo, true
	case Completed:
		return EventJobCompleted, SeverityInfo, true
	case Failed:
		return EventJobFailed, SeverityError, true
	case Canceled:
		return EventJobCanceled, SeverityWarning, true
	case Terminated:
		return EventJobTerminated, SeverityWarning, true
	case PendingFailed:
		return EventJobPendingFailed, SeverityInfo, true
	}
	return "", "", false
}
