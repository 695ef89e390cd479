package engine

import (
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/row"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
)

// GivesUp notes that the run is given up with a job, and why; an empty reason is
// none. The verdict waits for that: this job may be the last.
func (f *Finisher) GivesUp(l *core.LeasedJob, reason string) {
	if reason != "" && f.giveUp == "" {
		f.giveUp = fmt.Sprintf("job %s: %s", l.Name, reason)
		f.tx.GivingUp = f.Run.WorkflowID
	}
}

// giveUpRun gives up the run, if that was noted.
func (f *Finisher) giveUpRun() error {
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
	return EndIfOver(f.tx, r.WorkflowID) // also one that is not given up now
}

// ofTheRun is a condition for jobs of workflow ?1: not its end job, and none of a
// compensation.
const ofTheRun = `(stage_id IS NULL OR stage_id NOT IN (SELECT id FROM stage WHERE workflow_id = ?1
	AND (kind = 'compensation' OR kind = 'end' AND parent_id IS NULL)))`

// AbortRun lets a run fail: what is live is ended, what waits is canceled, and the
// run goes on to its end like every other one; its end job begins when the runners
// have nothing of it any more. One that has ended, or is canceled,
// stays as it is.
func AbortRun(tx *core.Tx, r *view.Run, reason string) error {
	if r.Canceled || r.Ended || r.GivenUp != "" {
		return nil
	}
	if err := tx.ExecOne(`UPDATE workflow SET given_up = ? WHERE id = ?`, reason, r.WorkflowID); err != nil {
		return fmt.Errorf("give up workflow %d: %w", r.WorkflowID, err)
	}
	r.GivenUp = reason
	n, err := cancelRest(tx, r, row.GivenUpReason+reason)
	if err != nil {
		return err
	}
	if err := holdRunEnd(tx, r); err != nil {
		return err
	}
	err = tx.Event(r.WorkflowID, string(workflow.EventRunGivenUp), workflow.SeverityError, workflow.RunGivenUpPayload{
		Category: workflow.CategoryWorkflow, WorkflowID: r.WorkflowID, RunID: r.RunID, Reason: reason, Canceled: n,
	})
	if err != nil {
		return err
	}
	// The end job is still to come.
	if err := core.ReleaseClaims(tx, r.WorkflowID, core.ClaimHoldSelection{Kind: hold.HoldDeadline}, "the run was given up"); err != nil {
		return err
	}
	return EndIfOver(tx, r.WorkflowID)
}

// cancelRest cancels the jobs of a run that are not complete, and returns how many
// there were. Runners are told to end what they hold.
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
