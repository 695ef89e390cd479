package store

import (
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// givesUp notes that the run is given up, if that is the policy of a timeout
// that has ended a job. The verdict waits for that: this job may be the last.
func (f *finisher) givesUp(p workflow.TimeoutPolicy, l *lease, reason string) {
	if p == workflow.OnTimeoutFailWorkflow && f.giveUp == "" {
		f.giveUp = fmt.Sprintf("job %s: %s", l.name, reason)
		f.tx.givingUp = f.run.workflowID
	}
}

// giveUpRun gives up the run, if that was noted.
func (f *finisher) giveUpRun() error {
	if f.giveUp == "" {
		return nil
	}
	reason := f.giveUp
	f.giveUp, f.changed, f.tx.givingUp = "", true, 0
	r, err := f.tx.run(f.run.workflowID)
	if err != nil {
		return err
	}
	if err := f.tx.giveUp(r, reason); err != nil {
		return err
	}
	return f.tx.endIfOver(r.workflowID) // also one that is not given up now
}

// ofTheRun is a condition for jobs of workflow ?1: not its end job, and none of a
// compensation.
const ofTheRun = `(stage_id IS NULL OR stage_id NOT IN (SELECT id FROM stage WHERE workflow_id = ?1
	AND (kind = 'compensation' OR kind = 'end' AND parent_id IS NULL)))`

// givenUpReason begins the reason of what is ended as a run is given up.
const givenUpReason = "the run was given up: "

// giveUp lets a run fail: what is live is ended, what waits is canceled, and the
// run goes on to its end like every other one; its end job begins when the runners
// have nothing of it any more. One that has ended, or is canceled,
// stays as it is.
func (tx *Tx) giveUp(r *run, reason string) error {
	if r.canceled || r.ended || r.givenUp != "" {
		return nil
	}
	if err := tx.execOne(`UPDATE workflow SET given_up = ? WHERE id = ?`, reason, r.workflowID); err != nil {
		return fmt.Errorf("give up workflow %d: %w", r.workflowID, err)
	}
	r.givenUp = reason
	n, err := tx.cancelRest(r, givenUpReason+reason)
	if err != nil {
		return err
	}
	if err := tx.holdEnd(r); err != nil {
		return err
	}
	err = tx.event(r.workflowID, string(workflow.EventRunGivenUp), workflow.SeverityError, workflow.RunGivenUpPayload{
		Category: workflow.CategoryWorkflow, WorkflowID: r.workflowID, RunID: r.runID, Reason: reason, Canceled: n,
	})
	if err != nil {
		return err
	}
	// The end job is still to come.
	if err := tx.releaseClaims(r.workflowID, claimHoldSelection{kind: workflow.HoldDeadline}, "the run was given up"); err != nil {
		return err
	}
	return tx.endIfOver(r.workflowID)
}

// cancelRest cancels the jobs of a run that are not complete, and returns how many
// there were. Runners are told to end what they hold.
func (tx *Tx) cancelRest(r *run, why string) (int64, error) {
	const rest = ofTheRun + ` AND status NOT BETWEEN 5 AND 9`
	if err := tx.voidLeases(r, ofTheRun, 0, why); err != nil {
		return 0, err
	}
	columns := `fence = fence + (status IN (3, 4)), not_before_ms = 0, phase = 0, recovery = NULL, hold = NULL, ` + notReady
	n, err := tx.moveJobs(r.workflowID, workflow.Canceled, columns, rest)
	if err != nil || n == 0 {
		return n, err
	}
	return n, tx.countGates(r.workflowID)
}
