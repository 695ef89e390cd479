package stage

import (
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// StartFacts is what decides whether a run of a workflow starts, and how.
type StartFacts struct {
	WorkflowID   int64
	RunID        int64                 // the current run; 0: there was none yet
	Jobs         workflow.StatusCounts // without those of compensations
	Canceled     bool
	Compensating bool // the current run is being undone
	HasResults   bool // of the current run
}

// Start is how a run starts.
type Start struct {
	Starts bool // false: the current run has already started
	NewRun bool // the next run starts; false: the current one
	// OnlyUninitialized leaves complete jobs as they are.
	OnlyUninitialized bool
	Reason            string
}

// Start decides how a run starts. A run that was begun by a reset, and in which no job has
// run, is started; otherwise the next one is. It returns CodeConflict for a workflow without
// jobs, one that is canceled, and one that has ended.
func (f *StartFacts) Start() (Start, error) {
	total, waiting := f.Jobs.Total(), f.Jobs[workflow.Uninitialized]
	switch {
	case f.Compensating:
		return Start{Reason: fmt.Sprintf("run %d is being undone", f.RunID)}, nil
	case f.Canceled:
		return Start{}, workflow.Errorf(workflow.CodeConflict, "workflow %d is canceled", f.WorkflowID).
			WithHint("`torc-slurm reset --failed-only %d` makes it runnable again", f.WorkflowID)
	case total == 0:
		return Start{}, workflow.Errorf(workflow.CodeConflict, "workflow %d has no jobs", f.WorkflowID)
	case f.Jobs.Complete() == total:
		return Start{}, workflow.Errorf(workflow.CodeConflict, "workflow %d has ended", f.WorkflowID).
			WithHint("`torc-slurm reset %d` makes it runnable again", f.WorkflowID)
	case waiting == 0:
		return Start{Reason: fmt.Sprintf("run %d has already started", f.RunID)}, nil
	}
	s := Start{Starts: true, OnlyUninitialized: waiting+f.Jobs[workflow.Disabled] != total}
	switch {
	case f.RunID == 0:
		s.NewRun, s.Reason = true, "no run has started yet"
	case f.HasResults:
		s.NewRun, s.Reason = true, fmt.Sprintf("jobs have already run in run %d", f.RunID)
	default:
		s.Reason = fmt.Sprintf("no job has run in run %d", f.RunID)
	}
	return s, nil
}
