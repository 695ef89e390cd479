package core

import (
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// LoadRun reads the current run of a visible workflow.
func LoadRun(tx *Tx, workflowID int64) (*view.Run, error) {
	return view.ReadRun(tx.Row, workflowID)
}

// AnotherRun returns the error for a request about a run that is not the current one.
func AnotherRun(id, runID, expected int64) error {
	return workflow.Errorf(workflow.CodeConflict, "workflow %d is at run %d, not at run %d", id, runID, expected).
		WithHint("another run was started meanwhile; check its state and try again")
}
