package workflow

// EventType names what an event reports.
type EventType string

// The types of torc's events. Torc stores user actions, requests to cancel, and retries;
// the others it only streams. We store all of them.
const (
	EventUserAction            EventType = "user_action"
	EventWorkflowCanceled      EventType = "workflow_canceled" // the request to cancel, and the verdict, see EndPayload
	EventJobRetried            EventType = "job_retried"
	EventWorkflowStarted       EventType = "workflow_started"       // initialized, only the uninitialized jobs
	EventWorkflowReinitialized EventType = "workflow_reinitialized" // initialized, all jobs
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
	EventJobNotStarted     EventType = "job_not_started"    // Slurm rejected the step: the job stays with its runner, no attempt is counted
	EventLaunchPaused      EventType = "launch_paused"      // a runner starts no jobs for now
	EventOOMDoubtful       EventType = "oom_doubtful"       // the kernel killed a process because memory ran out, possibly one of this job
	EventLossSuperseded    EventType = "loss_superseded"    // an attempt considered lost was reported before its retry started: the report counts
	EventJobSettled        EventType = "job_settled"        // the previous attempt is known to have ended: the retry waits only for its delay
	EventWorkflowCompleted EventType = "workflow_completed" // the verdict of a run
	EventWorkflowFailed    EventType = "workflow_failed"    // the verdict of a run
	EventWorkflowReopened  EventType = "workflow_reopened"  // a run that had a verdict continues
	EventJobsSkipped       EventType = "jobs_skipped"       // jobs canceled because of a dependency; one event for all of them
	EventSiblingsCanceled  EventType = "siblings_canceled"  // live jobs are ended because another one failed
	EventJobsNotNeeded     EventType = "jobs_not_needed"    // jobs that run only after failures are disabled; one event for all of them
	EventJobRecovered      EventType = "job_recovered"      // a recovery script ended
	EventJobClassified     EventType = "job_classified"     // a hold ended
	EventStageStarted      EventType = "stage_started"      // the jobs of a sub-workflow or compensation start
	EventStageCompleted    EventType = "stage_completed"    // the verdict of a stage
	EventStageFailed       EventType = "stage_failed"       // the verdict of a stage
	EventEndReached        EventType = "end_reached"        // the end job starts
	EventReportLate        EventType = "report_late"        // a report with an old fence: stored, without effect
	EventRunGivenUp        EventType = "run_given_up"       // the run was aborted: no more jobs start, live ones are ended, the run has failed
	EventAlert             EventType = "alert"              // something may need a user's attention
	EventBreakerOpened     EventType = "circuit_breaker_opened"
	EventBreakerClosed     EventType = "circuit_breaker_closed"
	EventClaimsHeld        EventType = "claims_held"     // no more jobs are granted; running jobs continue
	EventClaimsReleased    EventType = "claims_released" // a reason for holding claims has gone

	EventCompensationStarted   EventType = "compensation_started"   // a run is being undone
	EventCompensationCompleted EventType = "compensation_completed" // a run was undone
	EventCompensationFailed    EventType = "compensation_failed"    // a run was not undone, or only in part
)

// LaunchPause says why and since when a runner that holds jobs starts none of them: Slurm
// starts no steps for it.
type LaunchPause struct {
	Reason  string `json:"reason"`
	SinceMS int64  `json:"since_ms"`
}
