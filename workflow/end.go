package workflow

import (
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow/criterion"
)

// Counts is what a workflow's run amounts to.
type Counts struct {
	ByStatus StatusCounts
	Retried  int64               // attempts that were followed by another one
	ByCause  map[CauseKind]int64 // attempts that ended
	// ByCategory counts failed attempts by the workflow's failure_categories.
	ByCategory map[string]int64
	// ByPattern counts the jobs whose names match a pattern that the condition of
	// success names.
	ByPattern map[string]StatusCounts
	// WorkflowCanceled: jobs that have not run will not.
	WorkflowCanceled bool
	// EndJob is how the end job ended; nil if there is none or it had no word.
	EndJob *EndJobResult
	// GivenUp is why the run was given up: it has failed, whatever its jobs say;
	// empty if it was not.
	GivenUp string
}

// Total is the number of jobs.
func (c Counts) Total() int64 { return c.ByStatus.Total() }

// Open is the number of jobs that are not complete.
func (c Counts) Open() int64 {
	n := c.Total()
	for s := range c.ByStatus {
		if JobStatus(s).IsComplete() {
			n -= c.ByStatus[s]
		}
	}
	return n
}

// Live is the number of jobs that a runner holds.
func (c Counts) Live() int64 { return c.ByStatus[Pending] + c.ByStatus[Running] }

// Ended reports whether the run is over: every job is complete, or the
// workflow was canceled and no attempt is live.
func (c Counts) Ended() bool {
	if c.WorkflowCanceled {
		return c.Live() == 0
	}
	return c.Open() == 0
}

// troubles is ByCause without the successes; nil if nothing is left.
func (c Counts) troubles() map[CauseKind]int64 {
	var rest map[CauseKind]int64
	for kind, n := range c.ByCause {
		if kind != CauseOK && n > 0 {
			if rest == nil {
				rest = make(map[CauseKind]int64)
			}
			rest[kind] = n
		}
	}
	return rest
}

// Verdict is how a run ended.
type Verdict struct {
	EventType EventType // EventWorkflowCompleted, EventWorkflowFailed or EventWorkflowCanceled
	Severity  Severity
	Payload   EndPayload
}

// EndPayload is the data of the event that ends a run.
type EndPayload struct {
	Category  string `json:"category"` // workflow
	EventType string `json:"event_type"`
	// EvaluatedByEndStep tells the verdict from other events of its type.
	EvaluatedByEndStep bool  `json:"evaluated_by_end_step"`
	WorkflowID         int64 `json:"workflow_id"`
	RunID              int64 `json:"run_id"`
	EndGeneration      int64 `json:"end_generation"`

	TotalSteps       int64               `json:"total_steps"`
	FailedStepsCount int64               `json:"failed_steps_count"` // failed and terminated
	Completed        int64               `json:"completed"`
	Failed           int64               `json:"failed"`
	Canceled         int64               `json:"canceled"`
	Terminated       int64               `json:"terminated"`
	Disabled         int64               `json:"disabled"`
	NotRun           int64               `json:"not_run"` // of a canceled workflow
	Retried          int64               `json:"retried"`
	ByCause          map[CauseKind]int64 `json:"by_cause,omitempty"`    // without ok
	ByCategory       map[string]int64    `json:"by_category,omitempty"` // failed attempts

	// Reason is why the run was given up.
	Reason string `json:"reason,omitempty"`
	// SuccessIf is the condition that the workflow gave, and SuccessIfHolds what
	// came out; of a run that was not canceled.
	SuccessIf      string `json:"success_if,omitempty"`
	SuccessIfHolds *bool  `json:"success_if_holds,omitempty"`

	// EndJob is how the end job ended, which the counts leave out; nil if there is
	// none or it had no word. One that was not successful makes the run fail.
	EndJob *EndJobResult `json:"end_job,omitempty"`
}

// Alert tells that a run failed.
func (p *EndPayload) Alert() Alert {
	text := fmt.Sprintf("Of %s %d completed, %d failed, %d were canceled.", CountOf(p.TotalSteps, "job", "jobs"), p.Completed, p.FailedStepsCount, p.Canceled)
	if p.Reason != "" {
		text += "\nIt was given up: " + p.Reason
	}
	if p.SuccessIfHolds != nil && !*p.SuccessIfHolds {
		text += "\nsuccess_if does not hold: " + p.SuccessIf
	}
	if p.EndJob != nil && p.EndJob.Status.IsUnsuccessful() {
		text += fmt.Sprintf("\nThe end job %s: %s", p.EndJob.Status, p.EndJob.Text)
	}
	return Alert{Kind: AlertRunFailed, Subject: fmt.Sprintf("run %d failed: %s", p.RunID, CountOf(p.FailedStepsCount, "failed job", "failed jobs")), Text: text}
}

// EndJobResult is how an end job ended.
type EndJobResult struct {
	JobID      int64     `json:"job_id"`
	Name       string    `json:"job_name"`
	Status     JobStatus `json:"status"`
	ReturnCode int64     `json:"return_code"`
	Text       string    `json:"text,omitempty"` // the cause in one line
}

// EndVerdict judges a run, or a stage of one, that has ended: it is successful if
// the condition holds or, without one, if no job failed, was terminated or was
// canceled, and the end job, if there is one, was successful. The caller adds the
// ids to the payload.
func EndVerdict(c Counts, success *criterion.Expr) Verdict {
	v := Verdict{EventType: EventWorkflowCompleted, Severity: SeverityInfo, Payload: EndPayload{
		Category:           CategoryWorkflow,
		EvaluatedByEndStep: true,
		TotalSteps:         c.Total(),
		FailedStepsCount:   c.ByStatus.unsuccessful(),
		Completed:          c.ByStatus[Completed],
		Failed:             c.ByStatus[Failed],
		Canceled:           c.ByStatus[Canceled],
		Terminated:         c.ByStatus[Terminated],
		Disabled:           c.ByStatus[Disabled],
		NotRun:             c.Open(),
		Retried:            c.Retried,
		ByCause:            c.troubles(),
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
		v.EventType, v.Severity = EventWorkflowCanceled, SeverityWarning
	case c.GivenUp != "":
		v.EventType, v.Severity, v.Payload.Reason = EventWorkflowFailed, SeverityError, c.GivenUp
	case !successful:
		v.EventType, v.Severity = EventWorkflowFailed, SeverityError
	}
	v.Payload.EventType = string(v.EventType)
	return v
}

// Text says in a few words what the numbers are.
func (p *EndPayload) Text() string {
	text := fmt.Sprintf("%d of %s completed", p.Completed, CountOf(p.TotalSteps, "job", "jobs"))
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
