package workflow

import "github.com/torc-slurm/torc-slurm/workflow/criterion"

// Counts is what a workflow's run amounts to.
type Counts struct {
	ByStatus StatusCounts
	Retried  int64               // attempts that were followed by another one
	ByCause  map[CauseKind]int64 // attempts that ended
	// ByPattern counts the jobs whose names match a pattern that the condition of
	// success names.
	ByPattern map[string]StatusCounts
	// WorkflowCanceled: jobs that have not run will not.
	WorkflowCanceled bool
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
	ByCause          map[CauseKind]int64 `json:"by_cause,omitempty"` // without ok

	// SuccessIf is the condition that the workflow gave, and SuccessIfHolds what
	// came out; of a run that was not canceled.
	SuccessIf      string `json:"success_if,omitempty"`
	SuccessIfHolds *bool  `json:"success_if_holds,omitempty"`
}

// EndVerdict judges a run that has ended: it is successful if the condition
// holds or, without one, if no job failed, was terminated or was canceled. The
// caller adds the ids to the payload.
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
	}}
	successful := v.Payload.FailedStepsCount+v.Payload.Canceled == 0
	if success != nil && !c.WorkflowCanceled {
		successful = success.Eval(c)
		v.Payload.SuccessIf, v.Payload.SuccessIfHolds = success.Text(), &successful
	}
	switch {
	case c.WorkflowCanceled:
		v.EventType, v.Severity = EventWorkflowCanceled, SeverityWarning
	case !successful:
		v.EventType, v.Severity = EventWorkflowFailed, SeverityError
	}
	v.Payload.EventType = string(v.EventType)
	return v
}
