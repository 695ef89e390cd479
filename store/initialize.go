package store

import (
	"context"
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// InitializeOptions say how to initialize a workflow's jobs.
type InitializeOptions struct {
	// OnlyUninitialized leaves alone what actions did for the workflow's start
	// and for jobs that all stay complete.
	OnlyUninitialized  bool
	ClearEphemeralData bool   // of user data records that are ephemeral
	User               string // who wants it; for the event
	// Begin, if not nil, is the run that the initialization begins: it is refused
	// when the workflow is at another one, or has been initialized for this one.
	Begin *int64
}

// Initialize puts the jobs of a workflow into the statuses that follow from the
// graph. Jobs that are uninitialized, were cut off (terminated) or wait for a
// classification begin anew, and with them whatever is behind them; the others
// stay complete. What is behind a failure that stands is skipped. Jobs that a
// runner holds, disabled ones and those of a compensation are left alone.
func (s *Store) Initialize(_ context.Context, workflowID int64, o InitializeOptions) error {
	return s.writer.do("initialize", func(tx *Tx) error { return tx.initialize(workflowID, o) })
}

func (tx *Tx) initialize(workflowID int64, o InitializeOptions) error {
	r, err := tx.run(workflowID)
	if err != nil {
		return err
	}
	if err := r.refuseWhileCompensating(); err != nil {
		return err
	}
	if o.Begin != nil {
		if err := tx.requireBegin(r, *o.Begin, o.OnlyUninitialized); err != nil {
			return err
		}
	}
	if o.ClearEphemeralData {
		if _, err := tx.exec(`UPDATE user_data SET data = NULL WHERE workflow_id = ? AND is_ephemeral = 1 AND data IS NOT NULL`, workflowID); err != nil {
			return fmt.Errorf("clear ephemeral user data of workflow %d: %w", workflowID, err)
		}
	}
	if err := tx.addImpliedDependencies(workflowID); err != nil {
		return err
	}
	if err := tx.storeHashes(workflowID); err != nil {
		return err
	}
	if _, err := tx.resume(r); err != nil {
		return err
	}
	if err := tx.beginAnew(r, o.OnlyUninitialized); err != nil {
		return err
	}
	if err := tx.numberAttempts(r); err != nil {
		return err
	}
	if err := tx.resetActions(workflowID, o.OnlyUninitialized); err != nil {
		return err
	}
	if err := tx.announceInitialized(r, o); err != nil {
		return err
	}
	if err := tx.settle(r); err != nil {
		return err
	}
	if err := tx.reopenIfOpen(r); err != nil {
		return err
	}
	if err := tx.startDeadline(r); err != nil {
		return err
	}
	tx.ready(workflowID)
	return tx.endIfOver(workflowID)
}

// requireBegin refuses to begin a run that is not the workflow's, or that somebody
// else has begun: one with jobs that are initialized or, if only the uninitialized
// ones matter, without any of these. It would arm again what actions have done.
func (tx *Tx) requireBegin(r *run, runID int64, onlyUninitialized bool) error {
	if r.runID != runID {
		return anotherRun(r.workflowID, r.runID, runID)
	}
	begun := `EXISTS (SELECT 1 FROM job WHERE workflow_id = ?1 AND status NOT IN (0, 9))`
	if onlyUninitialized {
		begun = `NOT EXISTS (SELECT 1 FROM job WHERE workflow_id = ?1 AND status = 0)`
	}
	var is bool
	if err := tx.row(`SELECT `+begun, []any{r.workflowID}, &is); err != nil {
		return fmt.Errorf("look whether run %d of workflow %d has begun: %w", runID, r.workflowID, err)
	}
	if is {
		return workflow.Errorf(workflow.CodeConflict, "run %d of workflow %d is initialized already", runID, r.workflowID).
			WithHint("go on with it, or begin another one")
	}
	return nil
}

// mayBegin is a condition for jobs of workflow ?1: their stage has started.
const mayBegin = `(stage_id IS NULL OR stage_id IN (SELECT id FROM stage WHERE workflow_id = ?1 AND state = 'running'))`

// beginAnew makes the jobs that have to run ready, or blocked where something
// is before them, and brings the gates up to date. Nothing gets ready while the
// workflow is halted.
func (tx *Tx) beginAnew(r *run, onlyUninitialized bool) error {
	if err := tx.blockBehind(r.workflowID, onlyUninitialized); err != nil {
		return err
	}
	if !r.halted {
		if _, err := tx.moveJobs(r.workflowID, workflow.Ready, asNew, `status IN (0, 1, 8, 10) AND gate_id IS NULL AND `+mayBegin); err != nil {
			return err
		}
	}
	if _, err := tx.moveJobs(r.workflowID, workflow.Blocked, asNew, `status IN (0, 8, 10) AND `+besideCompensation); err != nil {
		return err
	}
	for {
		if err := tx.countGates(r.workflowID); err != nil {
			return err
		}
		// A dependency that was added now may be open.
		n, err := tx.moveJobs(r.workflowID, workflow.Blocked, asNew, `(status = 2 OR skipped_by IS NOT NULL)
			AND gate_id IN (SELECT id FROM gate WHERE workflow_id = ?1 AND open > 0)`)
		if err != nil || n == 0 {
			return err
		}
	}
}

// blockBehind blocks what stands directly or indirectly behind a job that has
// to run or, unless only uninitialized jobs matter, that is not complete. The
// walk goes from gate to gate, so that it costs no more than there are
// dependencies.
func (tx *Tx) blockBehind(workflowID int64, onlyUninitialized bool) error {
	const stale = `(status IN (2, 5, 6, 7) OR status = 9 AND skipped_by = 0) AND gate_id IS NOT NULL AND ` + besideCompensation
	var some bool
	err := tx.row(`SELECT EXISTS (SELECT 1 FROM job WHERE workflow_id = ?1 AND `+stale+`)`, []any{workflowID}, &some)
	if err != nil {
		return fmt.Errorf("look for jobs of workflow %d that have run: %w", workflowID, err)
	}
	if !some {
		return nil
	}
	first := `x.status NOT IN (5, 6, 7, 9)`
	if onlyUninitialized {
		first = `x.status IN (0, 8, 10)`
	}
	_, err = tx.moveJobs(workflowID, workflow.Blocked, asNew, stale+` AND gate_id IN (`+gatesBehind(first)+`)`)
	return err
}

// gatesBehind selects the gates that stand directly or indirectly behind a job
// x of workflow ?1 that meets a condition.
func gatesBehind(condition string) string {
	return `WITH RECURSIVE reached (gate_id) AS (
			SELECT d.gate_id FROM job x JOIN gate_dependency d ON d.job_id = x.id WHERE x.workflow_id = ?1 AND ` + condition + `
			UNION
			SELECT d.gate_id FROM reached r JOIN job x ON x.gate_id = r.gate_id JOIN gate_dependency d ON d.job_id = x.id)
		SELECT gate_id FROM reached`
}

// numberAttempts gives jobs that wait to run the number of their next attempt,
// and takes from jobs that are not complete the result of an earlier one.
func (tx *Tx) numberAttempts(r *run) error {
	const next = `1 + COALESCE((SELECT MAX(a.attempt_id) FROM attempt a WHERE a.job_id = job.id AND a.run_id = ?2), 0)`
	_, err := tx.exec(`UPDATE job SET attempt_id = `+next+` WHERE workflow_id = ?1 AND status IN (1, 2) AND attempt_id != `+next, r.workflowID, r.runID)
	if err != nil {
		return fmt.Errorf("number the attempts of workflow %d: %w", r.workflowID, err)
	}
	_, err = tx.exec(`UPDATE job SET result_id = NULL WHERE workflow_id = ? AND result_id IS NOT NULL AND status NOT BETWEEN 5 AND 9`, r.workflowID)
	if err != nil {
		return fmt.Errorf("drop old results of workflow %d: %w", r.workflowID, err)
	}
	return nil
}

// announceInitialized writes the event of an initialisation, under torc's names.
func (tx *Tx) announceInitialized(r *run, o InitializeOptions) error {
	kind, message := workflow.EventWorkflowReinitialized, "Initialized all jobs"
	if o.OnlyUninitialized {
		kind, message = workflow.EventWorkflowStarted, "Initialized the uninitialized jobs"
	}
	return tx.event(r.workflowID, string(kind), workflow.SeverityInfo, map[string]any{
		"category": workflow.CategoryWorkflow, "type": kind, "user": o.User, "message": message, "run_id": r.runID,
	})
}

// resume lets the jobs of a workflow go on again that was halted and is not
// canceled any more, and reports whether it was so.
func (tx *Tx) resume(r *run) (resumed bool, err error) {
	if !r.halted || r.canceled {
		return false, nil
	}
	if err := tx.execOne(`UPDATE workflow SET is_halted = 0 WHERE id = ? AND is_halted = 1`, r.workflowID); err != nil {
		return false, fmt.Errorf("resume workflow %d: %w", r.workflowID, err)
	}
	r.halted = false
	return true, nil
}

// settleAll is settle for a workflow that may have blocked jobs without
// dependencies.
func (tx *Tx) settleAll(r *run) error {
	if r.halted {
		return nil
	}
	free, err := tx.idsOf(`UPDATE job SET status = 2 WHERE workflow_id = ?1 AND status = 1 AND gate_id IS NULL AND `+mayBegin+` RETURNING id`, r.workflowID)
	if err != nil {
		return fmt.Errorf("release jobs of workflow %d: %w", r.workflowID, err)
	}
	tx.move(r.workflowID, workflow.Blocked, workflow.Ready, int64(len(free)))
	if err := tx.trigger(workflow.Blocked, workflow.Ready, free); err != nil {
		return err
	}
	return tx.settle(r)
}

// settle releases or skips the blocked jobs that have nothing open before them.
func (tx *Tx) settle(r *run) error {
	gates, err := tx.idsOf(`SELECT id FROM gate g WHERE workflow_id = ? AND open = 0
		AND EXISTS (SELECT 1 FROM job j WHERE j.gate_id = g.id AND j.status = 1)`, r.workflowID)
	if err != nil {
		return fmt.Errorf("find open gates of workflow %d: %w", r.workflowID, err)
	}
	c, err := tx.newCascade(r)
	if err != nil {
		return err
	}
	if err := c.follow(nil, nil, gates); err != nil {
		return fmt.Errorf("release jobs of workflow %d: %w", r.workflowID, err)
	}
	return nil
}

// reopenIfOpen lets a run that has its verdict go on if jobs are open again. A
// canceled one ends at once again, with other counts.
func (tx *Tx) reopenIfOpen(r *run) error {
	if !r.ended {
		return nil
	}
	over, err := tx.isOver(r)
	if err != nil || over && !r.canceled {
		return err
	}
	if err := tx.clearVerdict(r, "jobs are open again"); err != nil {
		return err
	}
	return tx.endIfOver(r.workflowID)
}
