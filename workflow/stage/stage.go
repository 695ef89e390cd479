// Package stage decides when the parts of a run start and end: the verdict on a run, the
// stages of sub-workflows, the end job and compensations.
package stage

import "github.com/torc-slurm/torc-slurm/workflow"

// A Stage is a part of a workflow that starts at a certain event and ends when its jobs are
// complete: the jobs of a sub-workflow, the end job, or the jobs of a compensation. All are
// ordinary jobs of the same workflow, each in at most one stage; jobs in no other stage are
// in the main stage. So runners, claims, retries and logs do not depend on stages.
//
// Jobs of a stage that has not started stay blocked, even if their dependencies are complete.
// Its start releases those without open dependencies. Dependencies do not cross stages, and
// the counts of a stage include only its own jobs. A stage starts or ends in the same
// transaction as the event that causes it:
//
//   - child: starts when its sub-workflow job becomes ready. That job is running from then
//     on and gets the verdict of the stage. If the sub-workflow job becomes complete in
//     another way, for example because it is skipped, the jobs of the stage do too.
//   - end: starts when all other jobs of the stage that it ends are complete. That stage (the
//     main one, or a child) gets its verdict when the end job is complete.
//   - compensation: starts after the verdict of the run. Until then its jobs are disabled. It
//     does not affect the verdict.
type Stage struct {
	ID         int64
	WorkflowID int64
	Kind       workflow.StageKind
	ParentID   *int64 // the stage that it belongs to; nil: the main one
	Name       string
	State      State
	Policy     workflow.StagePolicy
	JobID      *int64 // its sub-workflow job
	// RunID and Generation are those of the run in which it was last started.
	RunID, Generation  int64
	StartedMS, EndedMS *int64
	Verdict            *StageVerdict         // of its latest end; nil before
	Counts             workflow.StatusCounts // of its jobs
	// WaitsFor are the hosts of runners that may still have processes of an aborted run. Its
	// end job waits for them.
	WaitsFor []string
}

// State is the state of a stage.
type State string

// The states of a stage. A stage that has to run again returns to NotStarted.
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
	// DeletedJobs is how many of its counted jobs were deleted since.
	DeletedJobs int64 `json:"deleted_jobs,omitempty"`
	EndPayload
}

// Succeeded reports whether the stage was successful.
func (v *StageVerdict) Succeeded() bool { return v.EventType == string(workflow.EventStageCompleted) }

// NewStageVerdict returns the verdict of a stage, from the verdict on its counts.
func NewStageVerdict(s *Stage, v Verdict) StageVerdict {
	p := StageVerdict{Stage: s.Name, Kind: s.Kind, EndPayload: v.Payload}
	p.WorkflowID, p.RunID, p.EndGeneration = s.WorkflowID, s.RunID, s.Generation
	p.EventType = string(workflow.EventStageFailed)
	if v.EventType == workflow.EventWorkflowCompleted {
		p.EventType = string(workflow.EventStageCompleted)
	}
	return p
}

// Cause returns the cause for the sub-workflow job of the stage.
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
