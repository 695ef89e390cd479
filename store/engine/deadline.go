package engine

import (
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

// The states of a deadline.
const (
	deadlinePassed = 1
	deadlineStops  = 2 // passed; nothing is claimed any more
)

// startDeadline starts the deadline of a run, at its first initialization.
func startDeadline(tx *core.Tx, r *view.Run) error {
	p, err := r.Policy()
	if err != nil || p.Deadline == nil {
		return err
	}
	_, err = tx.Exec(`UPDATE workflow SET deadline_ms = ?2 WHERE id = ?1 AND deadline_ms IS NULL`, r.WorkflowID, p.Deadline.DueMS(tx.NowMS))
	return sqlite.Wrap(err, "set the deadline of workflow %d", r.WorkflowID)
}

// PassDeadline applies the deadline of a run. It reports whether the deadline has passed
// now.
func PassDeadline(tx *core.Tx, id int64) (bool, error) {
	r, err := core.LoadRun(tx, id)
	if err != nil || r.Canceled || r.Ended {
		return false, err
	}
	p, err := r.Policy()
	if err != nil || p.Deadline == nil {
		return false, err
	}
	counts, err := core.StatusCounts(tx, id)
	if err != nil {
		return false, err
	}
	var state int
	if err := tx.Row(`SELECT deadline_state FROM workflow WHERE id = ?`, []any{id}, &state); err != nil {
		return false, err
	}
	if state == deadlineStops {
		return false, afterDeadline(tx, r, p.Deadline)
	}
	if state = deadlinePassed; p.Deadline.Policy == workflow.DeadlineStopNew {
		state = deadlineStops
	}
	if n, err := tx.Exec(`UPDATE workflow SET deadline_state = ? WHERE id = ? AND deadline_state = 0 AND deadline_ms <= ?`, state, id, tx.NowMS); err != nil || n == 0 {
		return false, err
	}
	if err := core.RaiseAlert(tx, r, stage.DeadlinePassed(p.Deadline, counts)); err != nil {
		return true, err
	}
	switch p.Deadline.Policy {
	case workflow.DeadlineFail:
		err = AbortRun(tx, r, p.Deadline.Reason())
	case workflow.DeadlineStopNew:
		if _, err = core.HoldClaims(tx, r, hold.ClaimHold{Kind: hold.HoldDeadline, Reason: p.Deadline.Reason()}); err == nil {
			err = afterDeadline(tx, r, p.Deadline)
		}
	}
	return true, err
}

// afterDeadline aborts a run that starts nothing more and has no live job. The run
// continues instead if somebody has released the claim hold, or if only the end job is
// left.
func afterDeadline(tx *core.Tx, r *view.Run, d *workflow.Deadline) error {
	var held bool
	err := tx.Row(`SELECT EXISTS (SELECT 1 FROM claim_hold h WHERE workflow_id = ? AND kind = ? AND `+view.HoldBinds+`)`,
		[]any{r.WorkflowID, string(hold.HoldDeadline)}, &held)
	if err != nil {
		return fmt.Errorf("check for the claim hold of workflow %d: %w", r.WorkflowID, err)
	}
	if live, err := liveJobs(tx, r.WorkflowID); err != nil || held && live > 0 {
		return err
	}
	if err := tx.ExecOne(`UPDATE workflow SET deadline_state = ? WHERE id = ?`, deadlinePassed, r.WorkflowID); err != nil || !held {
		return err
	}
	return AbortRun(tx, r, d.Reason())
}

// DropDeadline removes the deadline of a run, even one that has passed and prevents claims.
func DropDeadline(tx *core.Tx, workflowID int64) error {
	if err := tx.ExecOne(`UPDATE workflow SET deadline_ms = NULL, deadline_state = 0 WHERE id = ?`, workflowID); err != nil {
		return fmt.Errorf("drop the deadline of workflow %d: %w", workflowID, err)
	}
	return core.ReleaseClaims(tx, workflowID, core.ClaimHoldSelection{Kind: hold.HoldDeadline}, "the workflow has no deadline any more")
}
