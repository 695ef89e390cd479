package stage

import (
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// CompensationState is how far a compensation is.
type CompensationState string

// The states. Waiting: processes of the run may still live. A compensation that
// has ended stays so: there is one in a run.
const (
	CompensationWaiting   CompensationState = "waiting"
	CompensationRunning   CompensationState = "running"
	CompensationCompleted CompensationState = "completed"
	CompensationFailed    CompensationState = "failed"
)

// IsOver reports whether the compensation has ended.
func (s CompensationState) IsOver() bool {
	return s == CompensationCompleted || s == CompensationFailed
}

// Compensation is what became of the undoing of a run.
type Compensation struct {
	WorkflowID int64              `json:"workflow_id"`
	RunID      int64              `json:"run_id"`
	Generation int64              `json:"end_generation"` // whose verdict began it
	Verdict    workflow.EventType `json:"verdict"`        // of the run
	State      CompensationState  `json:"state"`
	Reason     string             `json:"reason,omitempty"` // why it ended early
	Text       string             `json:"text"`             // how it is, for people
	StartedMS  int64              `json:"started_ms"`
	DeadlineMS int64              `json:"deadline_ms"`
	EndedMS    *int64             `json:"ended_ms,omitempty"`
	// Undone and the others name the first few jobs of it, as they have ended.
	Undone   *UndoneJobs `json:"undone,omitempty"`   // jobs of the run that were undone
	Failed   *UndoneJobs `json:"failed,omitempty"`   // jobs of the compensation that failed, with their causes
	Canceled *UndoneJobs `json:"canceled,omitempty"` // and that were canceled
}

// UndoneJobs are jobs of which a compensation tells.
type UndoneJobs struct {
	Jobs  int64    `json:"jobs"`
	First []string `json:"first"` // the first few
}

// CompensationStopped is the reason of a compensation that somebody canceled.
const CompensationStopped = "the workflow was canceled"

// Lines say how it is, and which jobs were undone and which not.
func (c *Compensation) Lines() []string {
	lines := []string{c.Text}
	for _, part := range []struct {
		what string
		jobs *UndoneJobs
	}{{"undone", c.Undone}, {"failed", c.Failed}, {"canceled", c.Canceled}} {
		if part.jobs != nil {
			lines = append(lines, part.what+": "+workflow.FirstFew(part.jobs.First, part.jobs.Jobs))
		}
	}
	return lines
}

// Describe fills in the text, from the numbers of its jobs.
func (c *Compensation) Describe(jobs workflow.StatusCounts) {
	ended := Counts{ByStatus: jobs}
	all := ended.Total() - jobs[workflow.Disabled]
	switch c.State {
	case CompensationWaiting:
		c.Text = "waits until no process of the run is left"
	case CompensationRunning:
		c.Text = fmt.Sprintf("runs, %d of %s ended", all-ended.Open(), workflow.CountOf(all, "job has", "jobs have"))
	case CompensationCompleted:
		c.Text = "completed, " + workflow.CountOf(all, "job", "jobs")
	case CompensationFailed:
		word := "failed"
		if c.Reason == CompensationStopped {
			word = "canceled"
		}
		c.Text = fmt.Sprintf("%s, %d of %s completed", word, jobs[workflow.Completed], workflow.CountOf(all, "job", "jobs"))
		if c.Reason != "" {
			c.Text += ": " + c.Reason
		}
	}
}

// CompensationPayload is the data of EventCompensationStarted and of the events
// of its end.
type CompensationPayload struct {
	Category      string             `json:"category"` // workflow
	WorkflowID    int64              `json:"workflow_id"`
	RunID         int64              `json:"run_id"`
	EndGeneration int64              `json:"end_generation"`
	Verdict       workflow.EventType `json:"verdict"` // of the run, which stands
	Jobs          int64              `json:"jobs"`    // that run, or ran
	// DeadlineMS is when what is left of it is canceled.
	DeadlineMS int64  `json:"deadline_ms"`
	Text       string `json:"text,omitempty"`   // what it amounts to, at the end
	Reason     string `json:"reason,omitempty"` // why it ended early
}
