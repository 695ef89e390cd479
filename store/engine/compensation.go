package engine

import (
	"encoding/json"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/row"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/event"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

// begun is a condition for jobs x that have an attempt which started and has not been
// undone since, or that a runner held, and may have started, when the run was canceled.
const begun = `(x.status = {canceled} AND x.claimed_ms IS NOT NULL OR EXISTS (SELECT 1 FROM attempt a WHERE a.job_id = x.id AND ` + view.Started + `
	AND NOT EXISTS (SELECT 1 FROM job v JOIN attempt u ON u.job_id = v.id
		WHERE v.undoes_id = x.id AND v.workflow_id = x.workflow_id AND u.status = {completed} AND (u.run_id > a.run_id OR u.run_id = a.run_id AND u.end_ms >= a.end_ms))))`

// beginCompensation starts to undo a run with a verdict if the workflow wants that and
// something is left to undo; at most once per run. Its jobs become claimable when all
// runners have confirmed that they have no process of the run left.
func beginCompensation(tx *core.Tx, r *view.Run, verdict workflow.EventType) error {
	if !r.Stages || r.Compensation != "" {
		return nil
	}
	p, err := r.Policy()
	if err != nil {
		return err
	}
	within, wanted := p.Compensates(verdict)
	if !wanted {
		return nil
	}
	if some, err := HasStage(tx, r.WorkflowID, workflow.StageCompensation); err != nil || !some {
		return err
	}
	jobs, err := readyCompensation(tx, r)
	if err != nil || jobs == 0 {
		return err
	}
	runners, err := presentRunners(tx, r.WorkflowID)
	if err != nil {
		return err
	}
	deadline := tx.NowMS + within.Milliseconds()
	_, err = tx.Exec(`INSERT INTO compensation (workflow_id, run_id, generation, verdict, state, waits_for, started_ms, deadline_ms)
		VALUES (?, ?, ?, ?, 'waiting', ?, ?, ?)`, r.WorkflowID, r.RunID, r.Generation, string(verdict), runners, tx.NowMS, deadline)
	if err != nil {
		return fmt.Errorf("start to undo run %d of workflow %d: %w", r.RunID, r.WorkflowID, err)
	}
	r.Compensation, r.Halted = stage.CompensationWaiting, false
	err = tx.Event(r.WorkflowID, string(workflow.EventCompensationStarted), event.SeverityWarning, stage.CompensationPayload{
		Category: event.CategoryWorkflow, WorkflowID: r.WorkflowID, RunID: r.RunID, EndGeneration: r.Generation, Verdict: verdict,
		Jobs: jobs, DeadlineMS: deadline,
	})
	if err != nil {
		return err
	}
	if err := NotifyRunners(tx, r.WorkflowID); err != nil {
		return err
	}
	return releaseCompensation(tx, r)
}

// needlessUndo is a condition for undo jobs of jobs that never started. They wait for their
// turn and are disabled then, since the jobs behind them wait for everything that is undone
// earlier.
const needlessUndo = `status = {blocked} AND skipped_by = 0`

// readyCompensation makes the jobs of a compensation wait for its start. It returns how
// many there are, without the undo jobs of jobs that never started.
func readyCompensation(tx *core.Tx, r *view.Run) (int64, error) {
	const needed = view.InCompensation + ` AND (undoes_id IS NULL OR EXISTS (SELECT 1 FROM job x WHERE x.id = job.undoes_id AND ` + begun + `))`
	jobs, err := core.MoveJobs(tx, workflow.OpStage, r.WorkflowID, workflow.Blocked, AsNew+`, result_id = NULL`, needed)
	if err != nil || jobs == 0 {
		return 0, err
	}
	if _, err := core.MoveJobs(tx, workflow.OpStage, r.WorkflowID, workflow.Disabled, AsNew+`, result_id = NULL, skipped_by = 0`, view.InCompensation+` AND status != {blocked}`); err != nil {
		return 0, err
	}
	if _, err := core.MoveJobs(tx, workflow.OpStage, r.WorkflowID, workflow.Blocked, `skipped_by = 0`, view.InCompensation+` AND status = {disabled} AND gate_id IS NOT NULL`); err != nil {
		return 0, err
	}
	return jobs, CountGates(tx, r.WorkflowID)
}

// releaseCompensation starts a waiting compensation if no runner can have processes of the
// run any more.
func releaseCompensation(tx *core.Tx, r *view.Run) error {
	var waits bool
	err := tx.Row(`SELECT EXISTS (SELECT 1 FROM compensation c, json_each(c.waits_for) e JOIN compute_node n ON n.id = e.value AND n.is_active = 1
		WHERE c.workflow_id = ? AND c.run_id = ?)`, []any{r.WorkflowID, r.RunID}, &waits)
	if err != nil {
		return fmt.Errorf("check for processes of workflow %d: %w", r.WorkflowID, err)
	}
	if waits {
		return nil
	}
	err = tx.ExecOne(`UPDATE compensation SET state = 'running', waits_for = '[]' WHERE workflow_id = ? AND run_id = ? AND state = 'waiting'`, r.WorkflowID, r.RunID)
	if err != nil {
		return fmt.Errorf("continue to undo workflow %d: %w", r.WorkflowID, err)
	}
	r.Compensation = stage.CompensationRunning
	stages, err := loadStages(tx, `s.workflow_id = ? AND s.kind = 'compensation'`, r.WorkflowID)
	if err != nil {
		return err
	}
	c, err := newCascade(tx, r)
	if err != nil {
		return err
	}
	v := convergence{tx: tx, run: r, cascade: c, stages: map[int64]bool{}}
	for i := range stages {
		if err := v.startStage(&stages[i], 0, workflow.EventStageStarted); err != nil {
			return err
		}
	}
	if err := v.settle(); err != nil { // none of its jobs may be needed
		return err
	}
	if err := c.announce(); err != nil {
		return err
	}
	tx.Ready(r.WorkflowID)
	return NotifyRunners(tx, r.WorkflowID)
}

// ConfirmRunnerGone records that a runner has no process of the run any more.
func ConfirmRunnerGone(tx *core.Tx, r *view.Run, runner int64) error {
	n, err := tx.Exec(`UPDATE compensation SET waits_for = (SELECT json_group_array(value) FROM json_each(waits_for) WHERE value != ?3)
		WHERE workflow_id = ?1 AND run_id = ?2 AND state = 'waiting' AND EXISTS (SELECT 1 FROM json_each(waits_for) WHERE value = ?3)`,
		r.WorkflowID, r.RunID, runner)
	if err != nil {
		return fmt.Errorf("note that runner %d has no process of workflow %d: %w", runner, r.WorkflowID, err)
	}
	if n == 0 {
		return nil
	}
	return releaseCompensation(tx, r)
}

// passNeedless disables and returns the needless undo jobs behind gates.
func (c *Cascade) passNeedless(gates string) ([]int64, error) {
	ids, err := disableNeedless(c.Tx, c.Run.WorkflowID, gates)
	if err != nil {
		return nil, fmt.Errorf("disable undos that are not needed: %w", err)
	}
	c.touched = append(c.touched, ids...)
	return ids, nil
}

// RequireCompensationRuns rejects the repetition of a job of a compensation that is not
// running, since nothing would start the job.
func RequireCompensationRuns(tx *core.Tx, r *view.Run, job int64) error {
	if !r.Stages || r.Compensation == stage.CompensationRunning {
		return nil
	}
	if of, err := isCompensating(tx, r, job); err != nil || !of {
		return err
	}
	return workflow.Errorf(workflow.CodeConflict, "job_id=%d belongs to a compensation that is not running", job).
		WithHint("a compensation runs once, after a run that failed or was canceled; repeat the workflow with reset")
}

// isCompensating reports whether a job belongs to a compensation.
func isCompensating(tx *core.Tx, r *view.Run, job int64) (is bool, err error) {
	err = tx.Row(`SELECT EXISTS (SELECT 1 FROM job WHERE workflow_id = ?1 AND id = ?2 AND `+view.InCompensation+`)`, []any{r.WorkflowID, job}, &is)
	return is, sqlite.Wrap(err, "find the compensation of job %d", job)
}

// RequireNotUndone rejects a manual end of a job while its run is being undone, since the
// verdict of the run is final. Jobs of the compensation may be ended.
func RequireNotUndone(tx *core.Tx, r *view.Run, job int64) error {
	if err := RequireCompensationRuns(tx, r, job); err != nil || !r.Compensating() {
		return err
	}
	if of, err := isCompensating(tx, r, job); err != nil || of {
		return err
	}
	return r.RefuseWhileCompensating()
}

// stepCompensation ends a compensation whose jobs are complete.
func (c *convergence) stepCompensation(s *row.Stage) error {
	if s.State != stage.Running || s.Open || c.run.Compensation != stage.CompensationRunning {
		return nil
	}
	if err := c.cascade.announce(); err != nil {
		return err
	}
	return finishCompensation(c.tx, c.run, s, "")
}

// finishCompensation ends a compensation. The reason says why it ended early; empty: it did
// not.
func finishCompensation(tx *core.Tx, r *view.Run, s *row.Stage, reason string) error {
	v, err := row.StageVerdict(tx.Each, &s.Stage, r.RunID)
	if err != nil {
		return err
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("end stage %d: %w", s.ID, err)
	}
	if err := tx.ExecOne(`UPDATE stage SET state = 'ended', ended_ms = ?, verdict = ? WHERE id = ?`, tx.NowMS, string(text), s.ID); err != nil {
		return fmt.Errorf("end stage %d: %w", s.ID, err)
	}
	state, kind, severity := stage.CompensationCompleted, workflow.EventCompensationCompleted, event.SeverityInfo
	if !v.Succeeded() || reason != "" {
		state, kind, severity = stage.CompensationFailed, workflow.EventCompensationFailed, event.SeverityError
	}
	p := stage.CompensationPayload{
		Category: event.CategoryWorkflow, WorkflowID: r.WorkflowID, RunID: r.RunID, Jobs: v.TotalSteps - v.Disabled, Text: v.Text(), Reason: reason,
	}
	err = tx.Row(`UPDATE compensation SET state = ?, reason = ?, waits_for = '[]', ended_ms = ? WHERE workflow_id = ? AND run_id = ? AND state IN ('waiting', 'running')
		RETURNING generation, verdict, deadline_ms`, []any{string(state), reason, tx.NowMS, r.WorkflowID, r.RunID}, &p.EndGeneration, &p.Verdict, &p.DeadlineMS)
	if err != nil {
		return fmt.Errorf("end the undoing of workflow %d: %w", r.WorkflowID, err)
	}
	r.Compensation = state
	tx.Changes.Ended = core.AppendNew(tx.Changes.Ended, []int64{r.WorkflowID})
	if err := NotifyRunners(tx, r.WorkflowID); err != nil {
		return err
	}
	return tx.Event(r.WorkflowID, string(kind), severity, p)
}

// EndCompensation ends a compensation early. It ends running jobs and cancels the others.
func EndCompensation(tx *core.Tx, r *view.Run, reason string) error {
	const left = view.InCompensation + ` AND status NOT BETWEEN {completed} AND {disabled}`
	if err := VoidLeases(tx, r, view.InCompensation, 0, "undoing the run was ended: "+reason); err != nil {
		return err
	}
	if _, err := core.MoveJobs(tx, workflow.OpStage, r.WorkflowID, workflow.Disabled, `skipped_by = 0`, view.InCompensation+` AND `+needlessUndo); err != nil {
		return err
	}
	if _, err := core.MoveJobs(tx, workflow.OpStage, r.WorkflowID, workflow.Canceled, asCanceled, left); err != nil {
		return err
	}
	if err := CountGates(tx, r.WorkflowID); err != nil {
		return err
	}
	stages, err := loadStages(tx, `s.workflow_id = ? AND s.kind = 'compensation'`, r.WorkflowID)
	if err != nil {
		return err
	}
	for i := range stages {
		stages[i].RunID = r.RunID
		if err := finishCompensation(tx, r, &stages[i], reason); err != nil {
			return err
		}
	}
	return nil
}

// ReviewCompensation ends the compensation of a workflow when its time is over, and starts
// one whose runners have left.
func ReviewCompensation(tx *core.Tx, workflowID int64) error {
	r, err := core.LoadRun(tx, workflowID)
	if err != nil || !r.Compensating() {
		return err
	}
	var deadline int64
	err = tx.Row(`SELECT deadline_ms FROM compensation WHERE workflow_id = ? AND run_id = ?`, []any{workflowID, r.RunID}, &deadline)
	switch {
	case err != nil:
		return err
	case tx.NowMS >= deadline:
		return EndCompensation(tx, r, "it took longer than its timeout")
	case r.Compensation == stage.CompensationWaiting:
		return releaseCompensation(tx, r)
	}
	return nil
}
