// Package stage says when the parts of a run begin and end, and how: the verdict on
// a run, the stages of sub-workflows, the end job and compensations.
package stage

import "github.com/torc-slurm/torc-slurm/workflow"

// A Stage is a part of a workflow that begins when something says so and ends
// when its jobs are complete: the jobs of a sub-workflow, the end job, the jobs
// of a compensation. All are ordinary jobs of the same workflow, each in at most
// one stage; those that are in none are the main stage. So runners, claims,
// retries and logs know nothing of stages.
//
// A stage that has not started keeps its jobs blocked, whatever is complete
// before them; its start lets those go on that have nothing open before them.
// Dependencies do not leave a stage. What a stage amounts to counts its own jobs
// alone. Stages begin and end in the transaction that makes them, never later:
//
//   - child: when the job that it stands for (its sub-workflow job) becomes ready,
//     which is running from then on and takes the stage's verdict as its own. A
//     sub-workflow job that is complete in another way, as it was skipped, takes
//     its jobs along.
//   - end: when all other jobs of the stage that it ends are complete. That stage
//     (the main one, or a child) gets its verdict when the end job is complete.
//   - compensation: when whoever made it says so. Until then its jobs rest as
//     disabled. It has no part in the verdict of the run.
type Stage struct {
	ID         int64
	WorkflowID int64
	Kind       workflow.StageKind
	ParentID   *int64 // the stage that it belongs to; nil: the main one
	Name       string
	State      State
	Policy     workflow.StagePolicy
	JobID      *int64 // its sub-workflow job
	// RunID and Generation are of the run in which it was last started.
	RunID, Generation  int64
	StartedMS, EndedMS *int64
	Verdict            *StageVerdict         // of its latest end; nil before
	Counts             workflow.StatusCounts // of its jobs
	// WaitsFor are the hosts of the runners that the end job of a run that was given
	// up waits for, as they may have processes of the run.
	WaitsFor []string
}

// State is how far a stage is.
type State string

// The states. A stage that is to run again goes back to the first one.
const (
	NotStarted State = "not_started"
	Running    State = "running"
	Ended      State = "ended"
)

// StageVerdict is how a stage ended: the data of EventStageCompleted and
// EventStageFailed.
type StageVerdict struct {
	Stage   string             `json:"stage"`
	Kind    workflow.StageKind `json:"kind"`
	JobID   int64              `json:"job_id,omitempty"` // the sub-workflow job
	JobName string             `json:"job_name,omitempty"`
	// DeletedJobs is how many of the jobs that it counts were deleted since.
	DeletedJobs int64 `json:"deleted_jobs,omitempty"`
	EndPayload
}

// Succeeded reports whether the stage was successful.
func (v *StageVerdict) Succeeded() bool { return v.EventType == string(workflow.EventStageCompleted) }

// NewStageVerdict makes the verdict of a stage from that of its counts.
func NewStageVerdict(s *Stage, v Verdict) StageVerdict {
	p := StageVerdict{Stage: s.Name, Kind: s.Kind, EndPayload: v.Payload}
	p.WorkflowID, p.RunID, p.EndGeneration = s.WorkflowID, s.RunID, s.Generation
	p.EventType = string(workflow.EventStageFailed)
	if v.EventType == workflow.EventWorkflowCompleted {
		p.EventType = string(workflow.EventStageCompleted)
	}
	return p
}

// Cause is why the sub-workflow job of a stage ended as the stage did.
func (v *StageVerdict) Cause() workflow.Cause {
	c := workflow.Cause{Kind: workflow.CauseOK, Confidence: workflow.Certain, Status: workflow.Completed, Text: v.Text()}
	if !v.Succeeded() {
		c.Kind, c.Status, c.ReturnCode = workflow.CauseSubWorkflow, workflow.Failed, 1
	}
	return c
}

// StartedPayload is the data of EventStageStarted and EventEndReached.
type StartedPayload struct {
	Category string             `json:"category"` // workflow
	RunID    int64              `json:"run_id"`
	Stage    string             `json:"stage"`
	Kind     workflow.StageKind `json:"kind"`
	JobID    int64              `json:"job_id,omitempty"` // the sub-workflow job
	JobName  string             `json:"job_name,omitempty"`
	Jobs     int64              `json:"jobs"` // how many it has
}
