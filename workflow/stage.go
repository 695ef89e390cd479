package workflow

import "fmt"

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
	Kind       StageKind
	ParentID   *int64 // the stage that it belongs to; nil: the main one
	Name       string
	State      StageState
	Policy     StagePolicy
	JobID      *int64 // its sub-workflow job
	// RunID and Generation are of the run in which it was last started.
	RunID, Generation  int64
	StartedMS, EndedMS *int64
	Verdict            *StageVerdict // of its latest end; nil before
	Counts             StatusCounts  // of its jobs
	// WaitsFor are the hosts of the runners that the end job of a run that was given
	// up waits for, as they may have processes of the run.
	WaitsFor []string
}

// StageKind is what a stage is for.
type StageKind string

// The kinds.
const (
	StageChild        StageKind = "child"
	StageEnd          StageKind = "end"
	StageCompensation StageKind = "compensation"
)

// StageState is how far a stage is.
type StageState string

// The states. A stage that is to run again goes back to the first one.
const (
	StageNotStarted StageState = "not_started"
	StageRunning    StageState = "running"
	StageEnded      StageState = "ended"
)

// MaxStageDepth is how deep sub-workflows may lie in each other.
const MaxStageDepth = 16

// StagePolicy is what a stage says about itself.
type StagePolicy struct {
	// SuccessIf is the condition under which a child is successful; see
	// EndPolicy.
	SuccessIf string `json:"success_if,omitempty"`
	// Source is the file that a child was read from.
	Source string `json:"source,omitempty"`
}

// StageDefinition is a stage of a Definition. Stages and their parents are
// numbered from 1 in their order; 0 is the main stage. A parent comes before
// what belongs to it.
type StageDefinition struct {
	Kind   StageKind
	Name   string
	Parent int32
	Policy StagePolicy
}

// Validate says what is wrong with the stage by itself.
func (d *StageDefinition) Validate() error {
	if err := CheckName("stage", d.Name); err != nil {
		return err
	}
	switch {
	case d.Kind != StageChild && d.Kind != StageEnd && d.Kind != StageCompensation:
		return Errorf(CodeInvalid, "stage %q: %q is not a kind of stage", d.Name, d.Kind).WithHint("use child, end or compensation")
	case d.Name == "":
		return Errorf(CodeInvalid, "a stage of kind %s has no name", d.Kind)
	case d.Parent < 0:
		return Errorf(CodeInvalid, "stage %q belongs to stage number %d, which there is not", d.Name, d.Parent)
	}
	end := EndPolicy{SuccessIf: d.Policy.SuccessIf}
	var found problems
	found.end(&end)
	return ProblemsError(fmt.Sprintf("stage %q", d.Name), found)
}

// StageVerdict is how a stage ended: the data of EventStageCompleted and
// EventStageFailed.
type StageVerdict struct {
	Stage   string    `json:"stage"`
	Kind    StageKind `json:"kind"`
	JobID   int64     `json:"job_id,omitempty"` // the sub-workflow job
	JobName string    `json:"job_name,omitempty"`
	// DeletedJobs is how many of the jobs that it counts were deleted since.
	DeletedJobs int64 `json:"deleted_jobs,omitempty"`
	EndPayload
}

// Succeeded reports whether the stage was successful.
func (v *StageVerdict) Succeeded() bool { return v.EventType == string(EventStageCompleted) }

// NewStageVerdict makes the verdict of a stage from that of its counts.
func NewStageVerdict(s *Stage, v Verdict) StageVerdict {
	p := StageVerdict{Stage: s.Name, Kind: s.Kind, EndPayload: v.Payload}
	p.WorkflowID, p.RunID, p.EndGeneration = s.WorkflowID, s.RunID, s.Generation
	p.EventType = string(EventStageFailed)
	if v.EventType == EventWorkflowCompleted {
		p.EventType = string(EventStageCompleted)
	}
	return p
}

// Cause is why the sub-workflow job of a stage ended as the stage did.
func (v *StageVerdict) Cause() Cause {
	c := Cause{Kind: CauseOK, Confidence: Certain, Status: Completed, Text: v.Text()}
	if !v.Succeeded() {
		c.Kind, c.Status, c.ReturnCode = CauseSubWorkflow, Failed, 1
	}
	return c
}

// StageStartedPayload is the data of EventStageStarted and EventEndReached.
type StageStartedPayload struct {
	Category string    `json:"category"` // workflow
	RunID    int64     `json:"run_id"`
	Stage    string    `json:"stage"`
	Kind     StageKind `json:"kind"`
	JobID    int64     `json:"job_id,omitempty"` // the sub-workflow job
	JobName  string    `json:"job_name,omitempty"`
	Jobs     int64     `json:"jobs"` // how many it has
}
