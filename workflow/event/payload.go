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

// JobEndedPayload is the data of the events that a job has ended or is held.
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
	// RoutedToEnd and OriginalFailedJob are set when the job was not
	// successful: the run goes on to its end all the same. They are not of jobs
	// that come after the end: the end job, and those of a compensation.
	RoutedToEnd       bool   `json:"routed_to_end,omitempty"`
	OriginalFailedJob string `json:"original_failed_job,omitempty"`
}

// NewJobEndedPayload fills in what follows from the status of a job before the end.
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
	SkippedBy  int64  `json:"skipped_by"` // the job whose end began it
}

// SiblingsCanceledPayload is the data of EventSiblingsCanceled: the live jobs
// are to be ended.
type SiblingsCanceledPayload struct {
	Category string             `json:"category"` // job
	RunID    int64              `json:"run_id"`
	JobID    int64              `json:"job_id"` // the one that failed
	JobName  string             `json:"job_name"`
	Cause    workflow.CauseKind `json:"cause"`
	Rule     string             `json:"rule"`
	Count    int64              `json:"count"`
}

// JobsNotNeededPayload is the data of EventJobsNotNeeded: jobs that were
// disabled because nothing failed that they were to run after.
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
	// If it failed: why the job goes on so, and the rule that says it.
	Reason      string `json:"reason,omitempty"`
	Rule        string `json:"rule,omitempty"`
	NotBeforeMS *int64 `json:"not_before_ms,omitempty"` // if the rule has the retry wait
}

// JobClassifiedPayload is the data of EventJobClassified.
type JobClassifiedPayload struct {
	JobID   int64              `json:"job_id"`
	JobName string             `json:"job_name"`
	RunID   int64              `json:"run_id"`
	Status  workflow.JobStatus `json:"status"` // ready or failed
	Author  string             `json:"author"`
	Reason  string             `json:"reason,omitempty"`
	// Confidence is certain, likely or guess, if the author has said it.
	Confidence workflow.Confidence `json:"confidence,omitempty"`
	Asks       string              `json:"asks,omitempty"` // what the next attempt asks for, such as "memory 4g -> 8g"
}

// WorkflowCanceledPayload is the data of EventWorkflowCanceled as torc writes
// it when somebody cancels.
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
	Cause     workflow.CauseKind `json:"cause"` // that was recorded and does not stand
}

// OOMDoubtfulPayload is the data of EventOOMDoubtful: an attempt that may have lost a
// process to the kernel, and the jobs that may have done so in its place. Of an
// allocation that Slurm calls OUT_OF_MEMORY, of which nobody knows more, it has the
// allocation, the others and the text.
type OOMDoubtfulPayload struct {
	Category   string              `json:"category"` // memory
	JobID      int64               `json:"job_id,omitempty"`
	JobName    string              `json:"job_name,omitempty"`
	RunID      int64               `json:"run_id"`
	AttemptID  int64               `json:"attempt_id,omitempty"`
	Kills      int64               `json:"kills,omitempty"`  // that are in doubt
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
	AttemptID   int64  `json:"attempt_id"`    // that is gone
	NotBeforeMS int64  `json:"not_before_ms"` // 0: at once
}

// RunGivenUpPayload is the data of EventRunGivenUp.
type RunGivenUpPayload struct {
	Category   string `json:"category"` // workflow
	WorkflowID int64  `json:"workflow_id"`
	RunID      int64  `json:"run_id"`
	Reason     string `json:"reason"`
	Canceled   int64  `json:"canceled"` // jobs
}

// WorkflowReopenedPayload is the data of EventWorkflowReopened.
type WorkflowReopenedPayload struct {
	Category      string `json:"category"` // workflow
	WorkflowID    int64  `json:"workflow_id"`
	RunID         int64  `json:"run_id"`
	EndGeneration int64  `json:"end_generation"` // the one that begins
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

// The payloads of the events that each attempt has write themselves: there are two
// for every job, and reflection would cost as much as their rows do. What they write
// is what encoding/json writes.

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
