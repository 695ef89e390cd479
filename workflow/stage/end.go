package stage

import (
	"fmt"
	"strings"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/criterion"
	"github.com/torc-slurm/torc-slurm/workflow/event"
)

// Counts has the numbers of jobs and attempts of a run.
type Counts struct {
	ByStatus workflow.StatusCounts
	Retried  int64                        // attempts that were followed by another one
	ByCause  map[workflow.CauseKind]int64 // attempts that ended
	// ByCategory counts failed attempts by the workflow's failure_categories.
	ByCategory map[string]int64
	// ByPattern counts the jobs whose names match a pattern in success_if.
	ByPattern map[string]workflow.StatusCounts
	// WorkflowCanceled says that jobs that have not started never will.
	WorkflowCanceled bool
	// EndJob is how the end job ended; nil if there is none or it did not run.
	EndJob *EndJobResult
	// GivenUp is why the run was aborted, so that it failed regardless of its jobs; empty
	// if it was not.
	GivenUp string
}

// Total returns the number of jobs.
func (c Counts) Total() int64 { return c.ByStatus.Total() }

// Open returns the number of jobs that are not complete.
func (c Counts) Open() int64 { return c.Total() - c.ByStatus.Complete() }

// Live returns the number of jobs that are pending or running.
func (c Counts) Live() int64 { return c.ByStatus[workflow.Pending] + c.ByStatus[workflow.Running] }

// Ended reports whether the run has ended: every job is complete, or the workflow was
// canceled and no attempt is live.
func (c Counts) Ended() bool {
	if c.WorkflowCanceled {
		return c.Live() == 0
	}
	return c.Open() == 0
}

// Troubles returns ByCause without the successes; nil if there are no other attempts.
func (c Counts) Troubles() map[workflow.CauseKind]int64 {
	var rest map[workflow.CauseKind]int64
	for kind, n := range c.ByCause {
		if kind != workflow.CauseOK && n > 0 {
			if rest == nil {
				rest = make(map[workflow.CauseKind]int64)
			}
			rest[kind] = n
		}
	}
	return rest
}

// Verdict is how a run ended.
type Verdict struct {
	EventType workflow.EventType // EventWorkflowCompleted, EventWorkflowFailed or EventWorkflowCanceled
	Severity  event.Severity
	Payload   EndPayload
}

// EndPayload is the data of the event that ends a run.
type EndPayload struct {
	Category  string `json:"category"` // workflow
	EventType string `json:"event_type"`
	// EvaluatedByEndStep distinguishes the verdict from other events of its type.
	EvaluatedByEndStep bool  `json:"evaluated_by_end_step"`
	WorkflowID         int64 `json:"workflow_id"`
	RunID              int64 `json:"run_id"`
	EndGeneration      int64 `json:"end_generation"`

	TotalSteps       int64                        `json:"total_steps"`
	FailedStepsCount int64                        `json:"failed_steps_count"` // failed and terminated
	Completed        int64                        `json:"completed"`
	Failed           int64                        `json:"failed"`
	Canceled         int64                        `json:"canceled"`
	Terminated       int64                        `json:"terminated"`
	Disabled         int64                        `json:"disabled"`
	NotRun           int64                        `json:"not_run"` // of a canceled workflow
	Retried          int64                        `json:"retried"`
	ByCause          map[workflow.CauseKind]int64 `json:"by_cause,omitempty"`    // without ok
	ByCategory       map[string]int64             `json:"by_category,omitempty"` // failed attempts

	// Reason is why the run was aborted.
	Reason string `json:"reason,omitempty"`
	// SuccessIf is the condition of the workflow, and SuccessIfHolds its result; only for a
	// run that was not canceled.
	SuccessIf      string `json:"success_if,omitempty"`
	SuccessIfHolds *bool  `json:"success_if_holds,omitempty"`

	// EndJob is how the end job ended, which the counts do not include; nil if there is none
	// or it did not run. An unsuccessful end job makes the run fail.
	EndJob *EndJobResult `json:"end_job,omitempty"`
}

// CompletedAlert returns the alert for a run that was successful.
func (p *EndPayload) CompletedAlert() workflow.Alert {
	return workflow.Alert{
		Kind: workflow.AlertRunCompleted, Subject: fmt.Sprintf("run %d completed", p.RunID),
		Text: fmt.Sprintf("Of %s, %d completed, %d failed, %d were canceled.", workflow.CountOf(p.TotalSteps, "job", "jobs"), p.Completed, p.FailedStepsCount, p.Canceled),
	}
}

// Alert returns the alert for a failed run.
func (p *EndPayload) Alert() workflow.Alert {
	text := fmt.Sprintf("Of %s, %d completed, %d failed, %d were canceled.", workflow.CountOf(p.TotalSteps, "job", "jobs"), p.Completed, p.FailedStepsCount, p.Canceled)
	if p.Reason != "" {
		text += "\nThe run was aborted: " + p.Reason
	}
	if p.SuccessIfHolds != nil && !*p.SuccessIfHolds {
		text += "\nsuccess_if does not hold: " + p.SuccessIf
	}
	if p.EndJob != nil && p.EndJob.Status.IsUnsuccessful() {
		text += fmt.Sprintf("\nThe end job %s: %s", p.EndJob.Status, p.EndJob.Text)
	}
	return workflow.Alert{Kind: workflow.AlertRunFailed, Subject: fmt.Sprintf("run %d failed: %s", p.RunID, workflow.CountOf(p.FailedStepsCount, "failed job", "failed jobs")), Text: text}
}

// EndJobResult is how an end job ended.
type EndJobResult struct {
	JobID      int64              `json:"job_id"`
	Name       string             `json:"job_name"`
	Status     workflow.JobStatus `json:"status"`
	ReturnCode int64              `json:"return_code"`
	Text       string             `json:"text,omitempty"` // the cause in one line
}

// EndVerdict returns the verdict on an ended run, or an ended stage of one. It is successful
// if the condition is true or, without one, if no job failed, was terminated or was canceled;
// and if the end job, if there is one, was successful. The caller adds the ids to the
// payload.
func EndVerdict(c Counts, success *criterion.Expr) Verdict {
	v := Verdict{EventType: workflow.EventWorkflowCompleted, Severity: event.SeverityInfo, Payload: EndPayload{
		Category:           event.CategoryWorkflow,
		EvaluatedByEndStep: true,
		TotalSteps:         c.Total(),
		FailedStepsCount:   c.ByStatus.Unsuccessful(),
		Completed:          c.ByStatus[workflow.Completed],
		Failed:             c.ByStatus[workflow.Failed],
		Canceled:           c.ByStatus[workflow.Canceled],
		Terminated:         c.ByStatus[workflow.Terminated],
		Disabled:           c.ByStatus[workflow.Disabled],
		NotRun:             c.Open(),
		Retried:            c.Retried,
		ByCause:            c.Troubles(),
		ByCategory:         c.ByCategory,
	}}
	successful := v.Payload.FailedStepsCount+v.Payload.Canceled == 0
	if success != nil && !c.WorkflowCanceled && c.GivenUp == "" {
		successful = success.Eval(c)
		holds := successful
		v.Payload.SuccessIf, v.Payload.SuccessIfHolds = success.Text(), &holds
	}
	if v.Payload.EndJob = c.EndJob; c.EndJob != nil && c.EndJob.Status.IsUnsuccessful() {
		successful = false
	}
	switch {
	case c.WorkflowCanceled:
		v.EventType, v.Severity = workflow.EventWorkflowCanceled, event.SeverityWarning
	case c.GivenUp != "":
		v.EventType, v.Severity, v.Payload.Reason = workflow.EventWorkflowFailed, event.SeverityError, c.GivenUp
	case !successful:
		v.EventType, v.Severity = workflow.EventWorkflowFailed, event.SeverityError
	}
	v.Payload.EventType = string(v.EventType)
	return v
}

// Text returns the numbers as text.
func (p *EndPayload) Text() string {
	text := fmt.Sprintf("%d of %s completed", p.Completed, workflow.CountOf(p.TotalSteps, "job", "jobs"))
	for _, part := range []struct {
		n    int64
		what string
	}{{p.Failed, "failed"}, {p.Terminated, "terminated"}, {p.Canceled, "canceled"}, {p.Disabled, "disabled"}} {
		if part.n > 0 {
			text += fmt.Sprintf(", %d %s", part.n, part.what)
		}
	}
	if p.SuccessIfHolds != nil && !*p.SuccessIfHolds {
		text += fmt.Sprintf("; success_if does not hold: %s", p.SuccessIf)
	}
	if p.EndJob != nil && p.EndJob.Status.IsUnsuccessful() {
		text += fmt.Sprintf("; the end job %s (%s)", p.EndJob.Status, p.EndJob.Text)
	}
	return text
}

// Number returns the number for a name in a condition. With Call it makes Counts the values
// of a condition.
func (c Counts) Number(name string) float64 {
	n := map[string]int64{
		criterion.Total: c.Total(), criterion.Completed: c.ByStatus[workflow.Completed], criterion.Failed: c.ByStatus.Unsuccessful(),
		criterion.Terminated: c.ByStatus[workflow.Terminated], criterion.Canceled: c.ByStatus[workflow.Canceled], criterion.Disabled: c.ByStatus[workflow.Disabled],
		criterion.NotRun: c.Open(), criterion.Retried: c.Retried,
	}
	return float64(n[name])
}

// Call returns the result of a function in a condition. The jobs of its argument must be
// counted in ByPattern.
func (c Counts) Call(function, argument string) float64 {
	in := c.ByPattern[argument]
	n := map[string]int64{
		criterion.TotalIn: in.Total(), criterion.CompletedIn: in[workflow.Completed], criterion.FailedIn: in.Unsuccessful(),
		criterion.CanceledIn: in[workflow.Canceled], criterion.AttemptsBy: c.ByCause[workflow.CauseKind(argument)],
	}
	return float64(n[function])
}

// Line returns a text about an end job that was not successful; "" for others.
func (r *EndJobResult) Line() string {
	if r == nil || !r.Status.IsUnsuccessful() {
		return ""
	}
	return strings.TrimSuffix(fmt.Sprintf("%s (job %d) %s: %s", r.Name, r.JobID, r.Status, r.Text), ": ")
}

// DeadlinePassed returns the alert that the deadline of a run has passed.
func DeadlinePassed(d *workflow.Deadline, c Counts) workflow.Alert {
	then := map[workflow.DeadlinePolicy]string{
		workflow.DeadlineStopNew: "No more jobs are started.", workflow.DeadlineFail: "Live jobs are ended, and the run has failed.",
	}[d.Policy]
	text := fmt.Sprintf("%d of %s are complete, %d are live, %d are waiting.", c.Total()-c.Open(), workflow.CountOf(c.Total(), "job", "jobs"), c.Live(), c.Open()-c.Live())
	if then != "" {
		text += "\n" + then
	}
	return workflow.Alert{Kind: workflow.AlertDeadline, Subject: fmt.Sprintf("the deadline has passed, %s after the start of the run", workflow.FormatDuration(d.Duration())), Text: text}
}
