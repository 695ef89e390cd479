package event

import (
	"encoding/json"
	"strconv"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// JobStartedPayload is the data of EventJobStarted and EventJobNotStarted.
type JobStartedPayload struct {
	JobID         int64  `json:"job_id"`
	JobName       string `json:"job_name"`
	ComputeNodeID int64  `json:"compute_node_id"`
	RunID         int64  `json:"run_id"`
	AttemptID     int64  `json:"attempt_id"`
}

// LaunchPausedPayload is the data of EventLaunchPaused.
type LaunchPausedPayload struct {
	ComputeNodeID int64  `json:"compute_node_id"`
	Hostname      string `json:"hostname"`
	workflow.LaunchPause
}

// JobEndedPayload is the data of the events for a job that has ended or is held.
// The first four fields are torc's.
type JobEndedPayload struct {
	JobID      int64              `json:"job_id"`
	JobName    string             `json:"job_name"`
	Status     workflow.JobStatus `json:"status"`
	ReturnCode int64              `json:"return_code"`

	RunID     int64              `json:"run_id"`
	AttemptID int64              `json:"attempt_id"`
	Cause     workflow.CauseKind `json:"cause,omitempty"`
	Text      string             `json:"text,omitempty"` // the cause in one line
	Category  string             `json:"category_of_failure,omitempty"`
	Reason    string             `json:"reason,omitempty"` // of the decision
	// RoutedToEnd and OriginalFailedJob are set if the job was not successful and the run
	// nevertheless continues to its end. They are not set for the end job and for jobs of
	// a compensation.
	RoutedToEnd       bool   `json:"routed_to_end,omitempty"`
	OriginalFailedJob string `json:"original_failed_job,omitempty"`
}

// NewJobEndedPayload returns the payload for a job that is neither an end job nor part of a
// compensation.
func NewJobEndedPayload(jobID int64, name string, runID, attempt int64, status workflow.JobStatus, c workflow.Cause, reason string) JobEndedPayload {
	p := JobEndedPayload{JobID: jobID, JobName: name, Status: status, ReturnCode: c.ReturnCode,
		RunID: runID, AttemptID: attempt, Cause: c.Kind, Text: c.Text, Reason: reason}
	if status.IsUnsuccessful() {
		p.RoutedToEnd, p.OriginalFailedJob = true, name
	}
	return p
}

// JobRetriedPayload is the data of EventJobRetried. The first seven fields are
// torc's.
type JobRetriedPayload struct {
	EventType       workflow.EventType `json:"event_type"`
	JobID           int64              `json:"job_id"`
	JobName         string             `json:"job_name"`
	PreviousAttempt int64              `json:"previous_attempt"`
	NewAttempt      int64              `json:"new_attempt"`
	RunID           int64              `json:"run_id"`
	Message         string             `json:"message"`

	Cause       workflow.CauseKind `json:"cause,omitempty"`
	Text        string             `json:"text,omitempty"`
	Category    string             `json:"category_of_failure,omitempty"`
	Rule        string             `json:"rule,omitempty"`
	Counted     bool               `json:"counted"`
	Recovery    bool               `json:"recovery,omitempty"` // the script runs first
	NotBeforeMS *int64             `json:"not_before_ms,omitempty"`
}

// JobsSkippedPayload is the data of EventJobsSkipped: jobs that were canceled
// because a dependency was not successful.
type JobsSkippedPayload struct {
	Category   string `json:"category"` // job
	RunID      int64  `json:"run_id"`
	Count      int64  `json:"count"`
	FirstJobID int64  `json:"first_job_id"`
	LastJobID  int64  `json:"last_job_id"`
	SkippedBy  int64  `json:"skipped_by"` // the job that was not successful
}

// SiblingsCanceledPayload is the data of EventSiblingsCanceled: the live jobs are being
// ended.
type SiblingsCanceledPayload struct {
	Category string             `json:"category"` // job
	RunID    int64              `json:"run_id"`
	JobID    int64              `json:"job_id"` // the one that failed
	JobName  string             `json:"job_name"`
	Cause    workflow.CauseKind `json:"cause"`
	Rule     string             `json:"rule"`
	Count    int64              `json:"count"`
}

// JobsNotNeededPayload is the data of EventJobsNotNeeded: jobs that run only after a
// failure and were disabled because there was none.
type JobsNotNeededPayload struct {
	Category   string `json:"category"` // job
	RunID      int64  `json:"run_id"`
	Count      int64  `json:"count"`
	FirstJobID int64  `json:"first_job_id"`
	LastJobID  int64  `json:"last_job_id"`
}

// JobRecoveredPayload is the data of EventJobRecovered.
type JobRecoveredPayload struct {
	JobID      int64           `json:"job_id"`
	JobName    string          `json:"job_name"`
	RunID      int64           `json:"run_id"`
	AttemptID  int64           `json:"attempt_id"` // the one that failed
	ReturnCode int64           `json:"return_code"`
	Error      string          `json:"error,omitempty"`
	Action     workflow.Action `json:"action"` // what happened then
	// Reason and Rule say, if the script failed, why the action was chosen and which rule
	// decided.
	Reason      string `json:"reason,omitempty"`
	Rule        string `json:"rule,omitempty"`
	NotBeforeMS *int64 `json:"not_before_ms,omitempty"` // if the rule delays the retry
}

// JobClassifiedPayload is the data of EventJobClassified.
type JobClassifiedPayload struct {
	JobID   int64              `json:"job_id"`
	JobName string             `json:"job_name"`
	RunID   int64              `json:"run_id"`
	Status  workflow.JobStatus `json:"status"` // ready or failed
	Author  string             `json:"author"`
	Reason  string             `json:"reason,omitempty"`
	// Confidence is certain, likely or guess, if the author gave one.
	Confidence workflow.Confidence `json:"confidence,omitempty"`
	Asks       string              `json:"asks,omitempty"` // the changed requirements of the next attempt, such as "memory 4g -> 8g"
}

// WorkflowCanceledPayload is the data of EventWorkflowCanceled, as torc writes it when a
// user cancels.
type WorkflowCanceledPayload struct {
	Category   string `json:"category"` // workflow
	Message    string `json:"message"`
	WorkflowID int64  `json:"workflow_id"`
	RunID      int64  `json:"run_id"`
}

// LossSupersededPayload is the data of EventLossSuperseded.
type LossSupersededPayload struct {
	JobID     int64              `json:"job_id"`
	JobName   string             `json:"job_name"`
	RunID     int64              `json:"run_id"`
	AttemptID int64              `json:"attempt_id"`
	Cause     workflow.CauseKind `json:"cause"` // the recorded cause, which no longer applies
}

// OOMDoubtfulPayload is the data of EventOOMDoubtful: an attempt of which the kernel may
// have killed a process, and the other jobs that it may have hit instead. For an allocation
// that ended with Slurm's OUT_OF_MEMORY, without more being known, only the allocation, the
// other jobs and the text are set.
type OOMDoubtfulPayload struct {
	Category   string              `json:"category"` // memory
	JobID      int64               `json:"job_id,omitempty"`
	JobName    string              `json:"job_name,omitempty"`
	RunID      int64               `json:"run_id"`
	AttemptID  int64               `json:"attempt_id,omitempty"`
	Kills      int64               `json:"kills,omitempty"`  // the number of doubtful kills
	Likely     bool                `json:"likely,omitempty"` // its process was the largest of those in question
	Others     []string            `json:"others"`           // names, at most 10
	OtherCount int                 `json:"other_count"`
	Policy     workflow.OOMPartial `json:"oom_partial,omitempty"`
	Status     workflow.JobStatus  `json:"status"` // of the attempt
	Cause      workflow.CauseKind  `json:"cause,omitempty"`
	Text       string              `json:"text"` // the cause in one line

	AllocationID int64 `json:"allocation_id,omitempty"`
}

// JobSettledPayload is the data of EventJobSettled.
type JobSettledPayload struct {
	JobID       int64  `json:"job_id"`
	JobName     string `json:"job_name"`
	RunID       int64  `json:"run_id"`
	AttemptID   int64  `json:"attempt_id"`    // the attempt that has ended
	NotBeforeMS int64  `json:"not_before_ms"` // 0: immediately
}

// RunGivenUpPayload is the data of EventRunGivenUp.
type RunGivenUpPayload struct {
	Category   string `json:"category"` // workflow
	WorkflowID int64  `json:"workflow_id"`
	RunID      int64  `json:"run_id"`
	Reason     string `json:"reason"`
	Canceled   int64  `json:"canceled"` // number of jobs
}

// WorkflowReopenedPayload is the data of EventWorkflowReopened.
type WorkflowReopenedPayload struct {
	Category      string `json:"category"` // workflow
	WorkflowID    int64  `json:"workflow_id"`
	RunID         int64  `json:"run_id"`
	EndGeneration int64  `json:"end_generation"` // the new one
	Reason        string `json:"reason"`
}

// ReportLatePayload is the data of EventReportLate.
type ReportLatePayload struct {
	JobID      int64              `json:"job_id"`
	RunID      int64              `json:"run_id"`
	AttemptID  int64              `json:"attempt_id"`
	Fence      int64              `json:"fence"`
	ReturnCode int64              `json:"return_code"`
	Cause      workflow.CauseKind `json:"cause"`
	Text       string             `json:"text"`
}

// The payloads of the two events that every job has encode themselves, because reflection
// would cost as much as writing their rows. The result is the same as that of
// encoding/json.

// AppendJSON appends the payload as JSON.
func (p JobStartedPayload) AppendJSON(b []byte) []byte {
	b = appendJSONNumber(b, `{"job_id":`, p.JobID)
	b = appendJSONText(b, `,"job_name":`, p.JobName)
	b = appendJSONNumber(b, `,"compute_node_id":`, p.ComputeNodeID)
	b = appendJSONNumber(b, `,"run_id":`, p.RunID)
	b = appendJSONNumber(b, `,"attempt_id":`, p.AttemptID)
	return append(b, '}')
}

// AppendJSON appends the payload as JSON.
func (p JobEndedPayload) AppendJSON(b []byte) []byte {
	b = appendJSONNumber(b, `{"job_id":`, p.JobID)
	b = appendJSONText(b, `,"job_name":`, p.JobName)
	b = appendJSONText(b, `,"status":`, p.Status.String())
	b = appendJSONNumber(b, `,"return_code":`, p.ReturnCode)
	b = appendJSONNumber(b, `,"run_id":`, p.RunID)
	b = appendJSONNumber(b, `,"attempt_id":`, p.AttemptID)
	for _, f := range [...]struct{ key, value string }{
		{`,"cause":`, string(p.Cause)}, {`,"text":`, p.Text}, {`,"category_of_failure":`, p.Category}, {`,"reason":`, p.Reason},
	} {
		if f.value != "" {
			b = appendJSONText(b, f.key, f.value)
		}
	}
	if p.RoutedToEnd {
		b = append(b, `,"routed_to_end":true`...)
	}
	if p.OriginalFailedJob != "" {
		b = appendJSONText(b, `,"original_failed_job":`, p.OriginalFailedJob)
	}
	return append(b, '}')
}

func appendJSONNumber(b []byte, key string, n int64) []byte {
	return strconv.AppendInt(append(b, key...), n, 10)
}

func appendJSONText(b []byte, key, text string) []byte {
	b = append(b, key...)
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			quoted, _ := json.Marshal(text) // a string
			return append(b, quoted...)
		}
	}
	b = append(b, '"')
	b = append(b, text...)
	return append(b, '"')
}
