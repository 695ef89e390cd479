package stage

import "github.com/torc-slurm/torc-slurm/workflow"

// Step is what is to be done with a stage.
type Step string

// The steps.
const (
	StageStay     Step = "stay"
	StageStart    Step = "start"     // its jobs may start
	StageReset    Step = "reset"     // it has not started (any more)
	StageDrop     Step = "drop"      // it does not run: its jobs are canceled
	StageReopen   Step = "reopen"    // some of its jobs are open again after its end
	StageStartEnd Step = "start_end" // its end job may start
	StageResetEnd Step = "reset_end" // its end job waits (again)
	StageFinish   Step = "finish"    // it gets its verdict
)

// Facts is the state of a child stage, or of the main one.
type Facts struct {
	State State
	Job   workflow.JobStatus // of the sub-workflow job; Running for the main stage
	Open  bool               // some of its jobs, not counting the end job, are not complete
	// End is the state of the end stage, and EndOpen whether its job is not
	// complete; End is empty if there is none.
	End     State
	EndOpen bool
}

// Next returns what has to be done with the stage. After a finite number of steps the result
// is StageStay.
func (f Facts) Next() Step {
	switch {
	case f.Job == workflow.Running:
		return f.whileRunning()
	case f.Job.IsComplete() && f.State != Ended:
		return StageDrop
	case f.Job.IsComplete() && (f.Open || f.EndOpen):
		return StageReopen
	case f.Job.IsComplete():
		return StageStay
	case f.State != NotStarted:
		return StageReset
	case f.Job == workflow.Ready:
		return StageStart
	}
	return StageStay
}

// whileRunning returns the next step while the sub-workflow job is running.
func (f Facts) whileRunning() Step {
	switch {
	case f.Open && f.End != "" && f.End != NotStarted:
		return StageResetEnd
	case f.Open:
		return StageStay
	case f.End == NotStarted, f.End == Ended && f.EndOpen:
		return StageStartEnd
	case f.EndOpen:
		return StageStay
	}
	return StageFinish
}
