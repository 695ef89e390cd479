package store

import (
	"context"
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// ResetStatus begins a new run of a workflow, which is neither canceled nor
// ended. Its jobs stay as they are; what a cancel left behind goes on when the
// run is initialized or the first job of it is complete. Unless it is forced, it is refused while
// jobs are live or allocations are pending or active.
func (s *Store) ResetStatus(_ context.Context, id int64, force bool, user string) (workflow.Workflow, error) {
	return s.resetStatus(id, nil, force, user)
}

// ResetStatusAt is ResetStatus of a workflow that is at a run; it is refused when
// another one has begun. Of several callers who saw the same run one begins the
// next.
func (s *Store) ResetStatusAt(_ context.Context, id, runID int64, force bool, user string) (workflow.Workflow, error) {
	return s.resetStatus(id, &runID, force, user)
}

func (s *Store) resetStatus(id int64, expected *int64, force bool, user string) (workflow.Workflow, error) {
	var w workflow.Workflow
	err := s.writer.do("reset workflow status", func(tx *Tx) (err error) {
		if w, err = getWorkflow(tx, id); err != nil {
			return err
		}
		if expected != nil && w.RunID != *expected {
			return anotherRun(id, w.RunID, *expected)
		}
		if w.IsArchived {
			return workflow.Errorf(workflow.CodeInvalid, "Cannot reset archived workflow status: workflow %d is archived", id).
				WithHint("take it out of the archive first")
		}
		if !force {
			if err := tx.requireIdle(id); err != nil {
				return err
			}
		}
		if err := tx.leaveCompensation(id, force); err != nil {
			return err
		}
		err = tx.execOne(`UPDATE workflow SET is_canceled = 0, run_id = run_id + 1, end_generation = 0, has_ended = 0,
			given_up = NULL, deadline_ms = NULL, deadline_state = 0 WHERE id = ?`, id)
		if err != nil {
			return fmt.Errorf("begin a new run of workflow %d: %w", id, err)
		}
		waited, err := tx.unholdEnd(id)
		if err != nil {
			return err
		}
		// Budgets and times are of a run, also those of jobs that stay ready.
		_, err = tx.exec(`UPDATE job SET rule_counts = NULL, counted_failures = 0, ready_ms = NULL, first_ready_ms = NULL, told = 0
			WHERE workflow_id = ? AND (rule_counts IS NOT NULL OR counted_failures != 0 OR first_ready_ms IS NOT NULL)`, id)
		if err != nil {
			return fmt.Errorf("renew the budgets of workflow %d: %w", id, err)
		}
		if _, err := tx.closeBreakers("a new run began", `workflow_id = ?3`, id); err != nil {
			return err
		}
		if err := tx.releaseClaims(id, allClaimHolds, "a new run began"); err != nil {
			return err
		}
		tx.ready(id)
		if err := tx.everyRunner(id); err != nil { // those of the last run must leave
			return err
		}
		w.IsCanceled, w.RunID, w.EndGeneration, w.Verdict = false, w.RunID+1, 0, ""
		err = tx.userAction(id, user, "reset_workflow_status", map[string]any{"force": force})
		if err != nil || !waited {
			return err
		}
		return tx.endIfOver(id) // nothing else would have the end job begin
	})
	return w, err
}

// anotherRun refuses what was asked about a run that is not the workflow's now.
func anotherRun(id, runID, expected int64) error {
	return workflow.Errorf(workflow.CodeConflict, "workflow %d is at run %d, not at run %d", id, runID, expected).
		WithHint("somebody else has begun a run; look at what has become of it, and ask again")
}

// leaveCompensation refuses a new run while the last one is being undone; if it is
// forced, that ends.
func (tx *Tx) leaveCompensation(id int64, force bool) error {
	r, err := tx.run(id)
	if err != nil || !r.compensating() {
		return err
	}
	if !force {
		return r.refuseWhileCompensating()
	}
	return tx.endCompensation(r, "a new run begins")
}

// requireIdle refuses while something of a workflow is at work. An allocation whose
// runners have all left is not, though Slurm has not said yet that it is over.
func (tx *Tx) requireIdle(id int64) error {
	var jobs, nodes int64
	err := tx.row(`SELECT (SELECT COUNT(*) FROM job WHERE workflow_id = ?1 AND status IN (3, 4) AND child_id IS NULL),
		(SELECT COUNT(*) FROM scheduled_compute_node s WHERE s.workflow_id = ?1 AND s.status IN ('pending', 'active')
			AND NOT EXISTS (SELECT 1 FROM allocation a WHERE a.workflow_id = ?1 AND a.scheduled_compute_node_id = s.id AND `+whereAbandoned+`))`, []any{id}, &jobs, &nodes)
	switch {
	case err != nil:
		return fmt.Errorf("look for work of workflow %d: %w", id, err)
	case jobs > 0:
		return workflow.Errorf(workflow.CodeInvalid, "Cannot reset workflow status: %d jobs of workflow %d are running or pending", jobs, id).
			WithHint("wait for them, cancel the workflow, or force it")
	case nodes > 0:
		return workflow.Errorf(workflow.CodeInvalid, "Cannot reset workflow status: %d scheduled compute nodes of workflow %d are pending or active", nodes, id).
			WithHint("wait for them, cancel them, or force it")
	}
	return nil
}

// ResetJobStatus makes jobs of a workflow uninitialized, all or only those that
// were not successful with everything behind them, and returns how many there
// were, not counting those behind. Disabled ones stay. Runners lose the jobs
// that they hold.
func (s *Store) ResetJobStatus(_ context.Context, id int64, failedOnly bool, user string) (n int64, err error) {
	err = s.writer.do("reset job status", func(tx *Tx) error {
		r, err := tx.run(id)
		if err != nil {
			return err
		}
		// Of the disabled jobs those begin anew that had not been needed.
		const some = `(status NOT IN (0, 9) OR status = 9 AND skipped_by = 0)`
		direct, all := some, some
		if failedOnly {
			direct = `status IN (6, 7, 8, 10)`
			all = `status IN (6, 7, 8, 10) OR ` + some + ` AND gate_id IN (` + gatesBehind(`x.status IN (6, 7, 8)`) + `)`
		}
		if err := tx.row(`SELECT COUNT(*) FROM job WHERE workflow_id = ? AND `+direct, []any{id}, &n); err != nil {
			return fmt.Errorf("count jobs of workflow %d: %w", id, err)
		}
		if err := tx.makeUninitialized(r, all); err != nil {
			return err
		}
		return tx.userAction(id, user, "reset_job_status", map[string]any{"failed_only": failedOnly, "updated_count": n})
	})
	return n, err
}

// makeUninitialized resets the jobs that meet a condition, in which ?1 is the
// workflow.
func (tx *Tx) makeUninitialized(r *run, condition string) error {
	if err := tx.voidLeases(r, condition, 0, "the job was reset"); err != nil {
		return err
	}
	n, err := tx.moveJobs(r.workflowID, workflow.Uninitialized, asNew+`, fence = fence + (status IN (3, 4))`, condition)
	if err != nil || n == 0 {
		return err
	}
	if r.stages { // a compensation rests until it is needed
		if _, err := tx.moveJobs(r.workflowID, workflow.Disabled, `result_id = NULL`, inCompensation+` AND status = 0`); err != nil {
			return err
		}
	}
	if err := tx.countGates(r.workflowID); err != nil {
		return err
	}
	if err := tx.converge(r); err != nil {
		return err
	}
	return tx.reopenIfOpen(r)
}
