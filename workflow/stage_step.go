package workflow

// StageStep is what is to be done with a stage.
type StageStep string

// The steps.
const (
	StageStay     StageStep = "stay"
	StageStart    StageStep = "start"     // its jobs may begin
	StageReset    StageStep = "reset"     // it has not started (any more)
	StageDrop     StageStep = "drop"      // it does not run: its jobs are canceled
	StageReopen   StageStep = "reopen"    // jobs of it are open again after its end
	StageStartEnd StageStep = "start_end" // its end job may begin
	StageResetEnd StageStep = "reset_end" // its end job waits (again)
	StageFinish   StageStep = "finish"    // it gets its verdict
)

// StageFacts is how a child stage, or the main one, is.
type StageFacts struct {
	State StageState
	Job   JobStatus // of the sub-workflow job; Running for the main stage
	Open  bool      // jobs of it, save for the end job, are not complete
	// End is the state of the end stage, and EndOpen whether its job is not
	// complete; End is empty if there is none.
	End     StageState
	EndOpen bool
}

// Next says what is to be done. Doing it leads to facts for which there is
// something else to do, or nothing: after finitely many steps nothing.
func (f StageFacts) Next() StageStep {
	switch {
	case f.Job == Running:
		return f.whileRunning()
	case f.Job.IsComplete() && f.State != StageEnded:
		return StageDrop
	case f.Job.IsComplete() && (f.Open || f.EndOpen):
		return StageReopen
	case f.Job.IsComplete():
		return StageStay
	case f.State != StageNotStarted:
		return StageReset
	case f.Job == Ready:
		return StageStart
	}
	return StageStay
}

// whileRunning is Next while the sub-workflow job is running.
func (f StageFacts) whileRunning() StageStep {
	switch {
	case f.Open && f.End != "" && f.End != StageNotStarted:
		return StageResetEnd
	case f.Open:
		return StageStay
	case f.End == StageNotStarted, f.End == StageEnded && f.EndOpen:
		return StageStartEnd
	case f.EndOpen:
		return StageStay
	}
	return StageFinish
}
