package engine

import (
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/row"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/event"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
)

// AbortFor notes that the run is to be aborted because of a job; not if the reason is empty.
// The verdict waits for that, since this job may be the last.
func (f *Finisher) AbortFor(l *core.LeasedJob, reason string) {
	if reason != "" && f.giveUp == "" {
		f.giveUp = fmt.Sprintf("job %s: %s", l.Name, reason)
		f.tx.GivingUp = f.Run.WorkflowID
	}
}

// abortNoted aborts the run if that was noted.
func (f *Finisher) abortNoted() error {
	if f.giveUp == "" {
		return nil
	}
	reason := f.giveUp
	f.giveUp, f.Changed, f.tx.GivingUp = "", true, 0
	r, err := core.LoadRun(f.tx, f.Run.WorkflowID)
	if err != nil {
		return err
	}
	if err := AbortRun(f.tx, r, reason); err != nil {
		return err
	}
	return EndIfOver(f.tx, r.WorkflowID) // also if it was not aborted
}

// ofTheRun is a condition for jobs of workflow ?1 that are neither its end job nor in a
// compensation.
const ofTheRun = `(stage_id IS NULL OR stage_id NOT IN (SELECT id FROM stage WHERE workflow_id = ?1
	AND (kind = 'compensation' OR kind = 'end' AND parent_id IS NULL)))`

// AbortRun makes a run fail. It ends live jobs and cancels waiting ones. The run then ends
// as usual; its end job waits until no runner has a process of the run. A run that has
// ended or is canceled stays as it is.
func AbortRun(tx *core.Tx, r *view.Run, reason string) error {
	if r.Canceled || r.Ended || r.GivenUp != "" {
		return nil
	}
	if err := tx.ExecOne(`UPDATE workflow SET given_up = ? WHERE id = ?`, reason, r.WorkflowID); err != nil {
		return fmt.Errorf("abort workflow %d: %w", r.WorkflowID, err)
	}
	r.GivenUp = reason
	n, err := cancelRest(tx, r, row.AbortedReason+reason)
	if err != nil {
		return err
	}
	err = tx.Event(r.WorkflowID, string(workflow.EventRunGivenUp), event.SeverityError, event.RunGivenUpPayload{
		Category: event.CategoryWorkflow, WorkflowID: r.WorkflowID, RunID: r.RunID, Reason: reason, Canceled: n,
	})
	if err != nil {
		return err
	}
	// The end job is still to run.
	if err := core.ReleaseClaims(tx, r.WorkflowID, core.ClaimHoldSelection{Kind: hold.HoldDeadline}, "the run was aborted"); err != nil {
		return err
	}
	return EndIfOver(tx, r.WorkflowID)
}

// cancelRest cancels the jobs of a run that are not complete, and returns how many there
// were. Their runners end them.
func cancelRest(tx *core.Tx, r *view.Run, why string) (int64, error) {
	const rest = ofTheRun + ` AND status NOT BETWEEN {completed} AND {disabled}`
	if err := VoidLeases(tx, r, ofTheRun, 0, why); err != nil {
		return 0, err
	}
	n, err := core.MoveJobs(tx, workflow.OpAbort, r.WorkflowID, workflow.Canceled, asCanceled, rest)
	if err != nil || n == 0 {
		return n, err
	}
	return n, CountGates(tx, r.WorkflowID)
}
