package stage

import (
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// CompensationState is the state of a compensation.
type CompensationState string

// The states of a compensation. A waiting one waits until no processes of the run are left.
// There is at most one compensation in a run, so an ended one does not change.
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

// Compensation is the undoing of a run.
type Compensation struct {
	WorkflowID int64              `json:"workflow_id"`
	RunID      int64              `json:"run_id"`
	Generation int64              `json:"end_generation"` // the one whose verdict started it
	Verdict    workflow.EventType `json:"verdict"`        // of the run
	State      CompensationState  `json:"state"`
	Reason     string             `json:"reason,omitempty"` // why it ended early
	Text       string             `json:"text"`             // its state as text
	StartedMS  int64              `json:"started_ms"`
	DeadlineMS int64              `json:"deadline_ms"`
	EndedMS    *int64             `json:"ended_ms,omitempty"`
	// Undone, Failed and Canceled name the first few of the jobs.
	Undone   *UndoneJobs `json:"undone,omitempty"`   // jobs of the run that were undone
	Failed   *UndoneJobs `json:"failed,omitempty"`   // jobs of the compensation that failed, with their causes
	Canceled *UndoneJobs `json:"canceled,omitempty"` // and that were canceled
}

// UndoneJobs is a group of jobs in a Compensation.
type UndoneJobs struct {
	Jobs  int64    `json:"jobs"`
	First []string `json:"first"` // the first few
}

// CompensationStopped is the reason of a compensation that a user canceled.
const CompensationStopped = "the workflow was canceled"

// Lines returns the state of the compensation, and which jobs were undone and which not.
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

// Describe sets the text from the numbers of its jobs.
func (c *Compensation) Describe(jobs workflow.StatusCounts) {
	ended := Counts{ByStatus: jobs}
	all := ended.Total() - jobs[workflow.Disabled]
	switch c.State {
	case CompensationWaiting:
		c.Text = "waits until no processes of the run are left"
	case CompensationRunning:
		c.Text = fmt.Sprintf("running, %d of %s ended", all-ended.Open(), workflow.CountOf(all, "job has", "jobs have"))
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
	Verdict       workflow.EventType `json:"verdict"` // of the run; it does not change
	Jobs          int64              `json:"jobs"`    // number of jobs of the compensation
	// DeadlineMS is when its remaining jobs are canceled.
	DeadlineMS int64  `json:"deadline_ms"`
	Text       string `json:"text,omitempty"`   // the result, at the end
	Reason     string `json:"reason,omitempty"` // why it ended early
}
