package workflow

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
	EventJobNotStarted     EventType = "job_not_started"    // Slurm refused the step: the job waits with its runner, it was no attempt
	EventLaunchPaused      EventType = "launch_paused"      // a runner starts nothing for now
	EventOOMDoubtful       EventType = "oom_doubtful"       // the kernel killed for memory, and it may have been this job's process
	EventLossSuperseded    EventType = "loss_superseded"    // an attempt that was taken for lost was reported before its retry began: the report counts
	EventJobSettled        EventType = "job_settled"        // the attempt before is known to be gone: the retry waits for its delay alone
	EventWorkflowCompleted EventType = "workflow_completed" // the verdict of a run
	EventWorkflowFailed    EventType = "workflow_failed"    // the verdict of a run
	EventWorkflowReopened  EventType = "workflow_reopened"  // a run with a verdict goes on
	EventJobsSkipped       EventType = "jobs_skipped"       // a cascade, as one event
	EventSiblingsCanceled  EventType = "siblings_canceled"  // live jobs are ended, as another one failed
	EventJobsNotNeeded     EventType = "jobs_not_needed"    // the same of jobs that run after failures
	EventJobRecovered      EventType = "job_recovered"      // a recovery script ended
	EventJobClassified     EventType = "job_classified"     // a hold ended
	EventStageStarted      EventType = "stage_started"      // the jobs of a sub-workflow or compensation begin
	EventStageCompleted    EventType = "stage_completed"    // the verdict of a stage
	EventStageFailed       EventType = "stage_failed"       // the verdict of a stage
	EventEndReached        EventType = "end_reached"        // the end job begins
	EventReportLate        EventType = "report_late"        // an old fence: kept, without effect
	EventRunGivenUp        EventType = "run_given_up"       // nothing more is started, what is live is ended, the run has failed
	EventAlert             EventType = "alert"              // somebody may have to look
	EventBreakerOpened     EventType = "circuit_breaker_opened"
	EventBreakerClosed     EventType = "circuit_breaker_closed"
	EventClaimsHeld        EventType = "claims_held"     // no job is granted any more; what runs goes on
	EventClaimsReleased    EventType = "claims_released" // one reason for that has gone

	EventCompensationStarted   EventType = "compensation_started"   // what a run did is being undone
	EventCompensationCompleted EventType = "compensation_completed" // and was
	EventCompensationFailed    EventType = "compensation_failed"    // and was not, or not in full
)

// LaunchPause is why and since when a runner starts no jobs, though it has some:
// Slurm starts no steps for it.
type LaunchPause struct {
	Reason  string `json:"reason"`
	SinceMS int64  `json:"since_ms"`
}
