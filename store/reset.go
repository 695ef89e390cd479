package store

import (
	"context"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/engine"
	"github.com/torc-slurm/torc-slurm/store/record"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/artifact"
)

// Reset starts a new run of a workflow, which is then neither canceled nor ended. Its jobs
// stay as they are; those left by a cancellation continue when the run is initialized or
// its first job is complete. Unless forced, it is rejected while jobs are live or
// allocations are pending or active.
func (s Workflows) Reset(ctx context.Context, id int64, force bool, user string) (workflow.Workflow, error) {
	return s.reset(ctx, id, nil, force, user)
}

// ResetAt is Reset if the workflow is at runID, and CodeConflict otherwise. Of several
// callers who saw the same run, one starts the next.
func (s Workflows) ResetAt(ctx context.Context, id, runID int64, force bool, user string) (workflow.Workflow, error) {
	return s.reset(ctx, id, &runID, force, user)
}

func (s Workflows) reset(ctx context.Context, id int64, expected *int64, force bool, user string) (workflow.Workflow, error) {
	var w workflow.Workflow
	err := s.shared.By(ctx).Do("reset workflow status", func(tx *core.Tx) (err error) {
		w, err = beginRun(tx, id, expected, force, user)
		return err
	})
	return w, err
}

// beginRun starts a new run of a workflow, which must be at the expected one unless that is
// nil. It returns the workflow.
func beginRun(tx *core.Tx, id int64, expected *int64, force bool, user string) (workflow.Workflow, error) {
	w, err := core.GetWorkflow(tx, id)
	if err != nil {
		return w, err
	}
	if expected != nil && w.RunID != *expected {
		return w, core.AnotherRun(id, w.RunID, *expected)
	}
	if w.IsArchived {
		return w, workflow.Errorf(workflow.CodeInvalid, "Cannot reset archived workflow status: workflow %d is archived", id).
			WithHint("take it out of the archive first")
	}
	if !force {
		if err := requireIdle(tx, id); err != nil {
			return w, err
		}
	}
	if err := leaveCompensation(tx, id, force); err != nil {
		return w, err
	}
	err = tx.ExecOne(`UPDATE workflow SET is_canceled = 0, run_id = run_id + 1, end_generation = 0, has_ended = 0,
		given_up = NULL, deadline_ms = NULL, deadline_state = 0 WHERE id = ?`, id)
	if err != nil {
		return w, fmt.Errorf("start a new run of workflow %d: %w", id, err)
	}
	waited, err := engine.ReleaseRunEnd(tx, id)
	if err != nil {
		return w, err
	}
	// Budgets and times belong to a run, also for jobs that stay ready.
	_, err = tx.Exec(`UPDATE job SET rule_counts = NULL, counted_failures = 0, ready_ms = NULL, first_ready_ms = NULL, told = 0
		WHERE workflow_id = ? AND (rule_counts IS NOT NULL OR counted_failures != 0 OR first_ready_ms IS NOT NULL)`, id)
	if err != nil {
		return w, fmt.Errorf("renew the budgets of workflow %d: %w", id, err)
	}
	if _, err := record.CloseBreakers(tx, "a new run was started", `workflow_id = ?3`, id); err != nil {
		return w, err
	}
	if err := core.ReleaseClaims(tx, id, allClaimHolds, "a new run was started"); err != nil {
		return w, err
	}
	tx.Ready(id)
	if err := engine.NotifyRunners(tx, id); err != nil { // those of the last run must leave
		return w, err
	}
	w.IsCanceled, w.RunID, w.EndGeneration, w.Verdict = false, w.RunID+1, 0, ""
	err = core.UserAction(tx, id, user, "reset_workflow_status", map[string]any{"force": force})
	if err != nil || !waited {
		return w, err
	}
	return w, engine.EndIfOver(tx, id) // nothing else would start the end job
}

// leaveCompensation rejects a new run while the last one is being undone. If forced, it
// ends the compensation.
func leaveCompensation(tx *core.Tx, id int64, force bool) error {
	r, err := core.LoadRun(tx, id)
	if err != nil || !r.Compensating() {
		return err
	}
	if !force {
		return r.RefuseWhileCompensating()
	}
	return engine.EndCompensation(tx, r, "a new run was started")
}

// requireIdle returns an error if jobs, allocations or runners of a workflow are active. An
// allocation whose runners have all left does not count, even if Slurm has not reported its
// end.
func requireIdle(tx *core.Tx, id int64) error {
	var jobs, nodes int64
	err := tx.Row(`SELECT (SELECT COUNT(*) FROM job WHERE workflow_id = ?1 AND status IN {live} AND child_id IS NULL),
		(SELECT COUNT(*) FROM scheduled_compute_node s WHERE s.workflow_id = ?1 AND s.status IN ('pending', 'active')
			AND NOT EXISTS (SELECT 1 FROM allocation a WHERE a.workflow_id = ?1 AND a.scheduled_compute_node_id = s.id AND `+view.WhereAbandoned+`))`, []any{id}, &jobs, &nodes)
	switch {
	case err != nil:
		return fmt.Errorf("check for work of workflow %d: %w", id, err)
	case jobs > 0:
		return workflow.Errorf(workflow.CodeInvalid, "Cannot reset workflow status: %d jobs of workflow %d are running or pending", jobs, id).
			WithHint("wait for them, cancel the workflow, or force it")
	case nodes > 0:
		return workflow.Errorf(workflow.CodeInvalid, "Cannot reset workflow status: %d scheduled compute nodes of workflow %d are pending or active", nodes, id).
			WithHint("wait for them, cancel them, or force it")
	}
	return nil
}

// ResetJobs resets jobs of a workflow: all, or only unsuccessful ones with everything
// behind them. It returns how many there were, without those behind. Disabled jobs stay
// disabled. Leases of reset jobs are voided.
func (s Workflows) ResetJobs(ctx context.Context, id int64, failedOnly bool, user string) (n int64, err error) {
	err = s.shared.By(ctx).Do("reset job status", func(tx *core.Tx) (err error) {
		n, err = resetJobs(tx, id, failedOnly, user)
		return err
	})
	return n, err
}

// ResetOptions configure a reset.
type ResetOptions struct {
	RunID      int64  // the workflow must be at this run
	FailedOnly bool   // only unsuccessful jobs, with everything behind them
	Force      bool   // even if something is running
	Initialize bool   // the jobs afterwards
	User       string // for the event
	// Files are the present times of files of the workflow, which are recorded.
	Files []artifact.FileTime
}

// ResetAll is ResetAt, ResetJobs and, on request, Initialize in one transaction. It returns
// the workflow with its new run, and how many jobs were reset, without those behind.
func (s Workflows) ResetAll(ctx context.Context, id int64, o ResetOptions) (w workflow.Workflow, n int64, err error) {
	err = s.shared.By(ctx).Do("reset a workflow", func(tx *core.Tx) (err error) {
		w, n, err = resetAll(tx, id, &o)
		return err
	})
	return w, n, err
}

// ProposeReset returns what ResetAll would return, or its error, and changes nothing.
func (s Workflows) ProposeReset(_ context.Context, id int64, o ResetOptions) (w workflow.Workflow, n int64, err error) {
	err = s.shared.Propose("propose a reset", func(tx *core.Tx) (err error) {
		w, n, err = resetAll(tx, id, &o)
		return err
	})
	return w, n, err
}

func resetAll(tx *core.Tx, id int64, o *ResetOptions) (w workflow.Workflow, n int64, err error) {
	if w, err = beginRun(tx, id, &o.RunID, o.Force, o.User); err != nil {
		return w, 0, err
	}
	if n, err = resetJobs(tx, id, o.FailedOnly, o.User); err != nil {
		return w, n, err
	}
	if err := recordTimes(tx, id, o.Files); err != nil || !o.Initialize {
		return w, n, err
	}
	return w, n, engine.InitializeJobs(tx, id, engine.InitializeOptions{OnlyUninitialized: true, User: o.User})
}

func resetJobs(tx *core.Tx, id int64, failedOnly bool, user string) (n int64, err error) {
	r, err := core.LoadRun(tx, id)
	if err != nil {
		return 0, err
	}
	// Disabled jobs are reset if they had not been needed.
	const some = `(status NOT IN ({uninitialized}, {disabled}) OR status = {disabled} AND skipped_by = 0)`
	direct, all := some, some
	if failedOnly {
		direct = `status IN ({failed}, {canceled}, {terminated}, {pending_failed})`
		all = `status IN ({failed}, {canceled}, {terminated}, {pending_failed}) OR ` + some + ` AND gate_id IN (` + engine.GatesBehind(`x.status IN {unsuccessful}`) + `)`
	}
	if err := tx.Row(`SELECT COUNT(*) FROM job WHERE workflow_id = ? AND `+direct, []any{id}, &n); err != nil {
		return 0, fmt.Errorf("count jobs of workflow %d: %w", id, err)
	}
	if err := makeUninitialized(tx, r, all); err != nil {
		return 0, err
	}
	return n, core.UserAction(tx, id, user, "reset_job_status", map[string]any{"failed_only": failedOnly, "updated_count": n})
}

// makeUninitialized resets the jobs that meet a condition, in which ?1 is the workflow.
func makeUninitialized(tx *core.Tx, r *view.Run, condition string) error {
	if err := engine.VoidLeases(tx, r, condition, 0, "the job was reset"); err != nil {
		return err
	}
	n, err := core.MoveJobs(tx, workflow.OpReset, r.WorkflowID, workflow.Uninitialized, engine.AsNew+`, `+engine.LeaseVoid, condition)
	if err != nil || n == 0 {
		return err
	}
	return settleReset(tx, r)
}

// settleReset updates what depends on jobs that have been reset.
func settleReset(tx *core.Tx, r *view.Run) error {
	if r.Stages { // compensations are disabled until needed
		if _, err := core.MoveJobs(tx, workflow.OpStage, r.WorkflowID, workflow.Disabled, `result_id = NULL`, view.InCompensation+` AND status = {uninitialized}`); err != nil {
			return err
		}
	}
	if err := engine.CountGates(tx, r.WorkflowID); err != nil {
		return err
	}
	if err := engine.ConvergeStages(tx, r); err != nil {
		return err
	}
	return engine.ReopenIfOpen(tx, r)
}

// JobAt is a job with the status that its caller saw.
type JobAt struct {
	ID     int64
	Status workflow.JobStatus
}

// RepeatJobs starts a new run of a workflow with jobs that have to run again, and
// initializes all uninitialized jobs. Jobs that have changed their status stay as they are
// and are returned. It returns CodeConflict if another run was started, and CodeInvalid for
// a job of another workflow or while the last run is active.
func (s Workflows) RepeatJobs(ctx context.Context, id, runID int64, jobs []JobAt, user string) (left []workflow.Job, err error) {
	err = s.shared.By(ctx).Do("repeat jobs", func(tx *core.Tx) (err error) {
		left, err = repeatJobs(tx, id, runID, jobs, user)
		return err
	})
	return left, err
}

func repeatJobs(tx *core.Tx, id, runID int64, jobs []JobAt, user string) (left []workflow.Job, err error) {
	var again []int64
	for _, expected := range jobs {
		j, err := engine.GetJob(tx, expected.ID)
		switch {
		case err != nil:
			return nil, err
		case j.WorkflowID != id:
			return nil, workflow.Errorf(workflow.CodeInvalid, "job %d does not belong to workflow %d", j.ID, id)
		case j.Status != expected.Status:
			left = append(left, j)
		default:
			again = append(again, j.ID)
		}
	}
	w, err := beginRun(tx, id, &runID, false, user)
	if err != nil {
		return nil, fmt.Errorf("start workflow %d: %w", id, err)
	}
	for _, job := range again {
		if err := changeStatus(tx, job, workflow.Uninitialized, w.RunID); err != nil {
			return nil, fmt.Errorf("reset job %d: %w", job, err)
		}
	}
	if err := engine.InitializeJobs(tx, id, engine.InitializeOptions{OnlyUninitialized: true, User: user}); err != nil {
		return nil, fmt.Errorf("start workflow %d: %w", id, err)
	}
	return left, nil
}
