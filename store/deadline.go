package store

import (
	"context"
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// What came of a deadline.
const (
	deadlinePassed = 1
	deadlineStops  = 2 // nothing is claimed since then
)

// startDeadline begins to count the time of a run, at its first initialization.
func (tx *Tx) startDeadline(r *run) error {
	p, err := r.policy()
	if err != nil || p.Deadline == nil {
		return err
	}
	_, err = tx.exec(`UPDATE workflow SET deadline_ms = ?2 WHERE id = ?1 AND deadline_ms IS NULL`, r.workflowID, p.Deadline.DueMS(tx.nowMS))
	if err != nil {
		return fmt.Errorf("set the deadline of workflow %d: %w", r.workflowID, err)
	}
	return nil
}

// PassDeadlines does what is to be done when deadlines of runs have passed, by
// the clock of the database, and returns how many did now. Where nothing more is
// started since then and nothing is live any more, the run is given up.
func (s *Store) PassDeadlines(ctx context.Context) (passed int, err error) {
	rows, err := s.read.QueryContext(ctx, `SELECT id FROM workflow WHERE deadline_ms IS NOT NULL AND deadline_state != 1 AND deadline_ms <= ?
		AND has_ended = 0 AND is_canceled = 0 AND is_hidden = 0 ORDER BY id`, s.now().UnixMilli())
	if err != nil {
		return 0, fmt.Errorf("look for deadlines: %w", err)
	}
	due, err := collect(rows, scanID)
	if err != nil {
		return 0, fmt.Errorf("look for deadlines: %w", err)
	}
	for _, id := range due {
		var now bool
		err := s.writer.do("pass a deadline", func(tx *Tx) (err error) {
			now, err = tx.passDeadline(id)
			return err
		})
		if err != nil && workflow.CodeOf(err) != workflow.CodeNotFound { // it was deleted meanwhile
			return passed, fmt.Errorf("pass the deadline of workflow %d: %w", id, err)
		}
		if now {
			passed++
		}
	}
	return passed, nil
}

// passDeadline reports whether the deadline of a run has passed now.
func (tx *Tx) passDeadline(id int64) (bool, error) {
	r, err := tx.run(id)
	if err != nil || r.canceled || r.ended {
		return false, err
	}
	p, err := r.policy()
	if err != nil || p.Deadline == nil {
		return false, err
	}
	counts, err := tx.statusCounts(id)
	if err != nil {
		return false, err
	}
	var state int
	if err := tx.row(`SELECT deadline_state FROM workflow WHERE id = ?`, []any{id}, &state); err != nil {
		return false, err
	}
	if state == deadlineStops {
		return false, tx.afterDeadline(r, p.Deadline)
	}
	if state = deadlinePassed; p.Deadline.Policy == workflow.DeadlineStopNew {
		state = deadlineStops
	}
	if n, err := tx.exec(`UPDATE workflow SET deadline_state = ? WHERE id = ? AND deadline_state = 0 AND deadline_ms <= ?`, state, id, tx.nowMS); err != nil || n == 0 {
		return false, err
	}
	if err := tx.alert(r, p.Deadline.Passed(counts)); err != nil {
		return true, err
	}
	switch p.Deadline.Policy {
	case workflow.DeadlineFail:
		err = tx.giveUp(r, p.Deadline.Reason())
	case workflow.DeadlineStopNew:
		if _, err = tx.holdClaims(r, workflow.ClaimHold{Kind: workflow.HoldDeadline, Reason: p.Deadline.Reason()}); err == nil {
			err = tx.afterDeadline(r, p.Deadline)
		}
	}
	return true, err
}

// afterDeadline gives up a run in which nothing more is started and nothing is
// live. If somebody has lifted the hold of claims, it goes on for good; so it does
// if its jobs are complete, and only its end job is left.
func (tx *Tx) afterDeadline(r *run, d *workflow.Deadline) error {
	var held bool
	err := tx.row(`SELECT EXISTS (SELECT 1 FROM claim_hold h WHERE workflow_id = ? AND kind = ? AND `+holdBinds+`)`,
		[]any{r.workflowID, string(workflow.HoldDeadline)}, &held)
	if err != nil {
		return fmt.Errorf("look for the hold of claims of workflow %d: %w", r.workflowID, err)
	}
	if live, err := tx.liveJobs(r.workflowID); err != nil || held && live > 0 {
		return err
	}
	if err := tx.execOne(`UPDATE workflow SET deadline_state = ? WHERE id = ?`, deadlinePassed, r.workflowID); err != nil || !held {
		return err
	}
	return tx.giveUp(r, d.Reason())
}

// dropDeadline has a run go on without its deadline, also where nothing more is
// started since that has passed.
func (tx *Tx) dropDeadline(workflowID int64) error {
	if err := tx.execOne(`UPDATE workflow SET deadline_ms = NULL, deadline_state = 0 WHERE id = ?`, workflowID); err != nil {
		return fmt.Errorf("drop the deadline of workflow %d: %w", workflowID, err)
	}
	return tx.releaseClaims(workflowID, claimHoldSelection{kind: workflow.HoldDeadline}, "the workflow has no deadline any more")
}
