package engine

import (
	"database/sql"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/row"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/event"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

// outside selects the stages of workflow ?1 whose jobs start only when those of the main
// stage are complete.
const outside = `SELECT id FROM stage WHERE workflow_id = ?1 AND kind = 'compensation'
	UNION ALL SELECT id FROM stage WHERE workflow_id = ?1 AND kind = 'end' AND parent_id IS NULL`

// loadStages reads the stages that meet a condition.
func loadStages(tx *core.Tx, condition string, args ...any) ([]row.Stage, error) {
	all, err := sqlite.Select(tx, row.ScanStage, `SELECT `+row.StageColumns+` FROM `+row.StageTables+` WHERE `+condition+` ORDER BY s.id`, args...)
	return all, sqlite.Wrap(err, "read stages")
}

// endStage returns the end stage of a stage (nil: of the main one); nil if it has none.
func endStage(tx *core.Tx, workflowID int64, of *int64) (*row.Stage, error) {
	all, err := loadStages(tx, `s.workflow_id = ? AND s.kind = 'end' AND s.parent_id IS ?`, workflowID, of)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return &all[0], nil
}

// RunningStages returns how many sub-workflows of a workflow are running.
func RunningStages(tx *core.Tx, workflowID int64) (n int64, err error) {
	if err := tx.Row(view.CountRunningStages, []any{workflowID}, &n); err != nil {
		return 0, fmt.Errorf("count the running sub-workflows of workflow %d: %w", workflowID, err)
	}
	return n, nil
}

// HasStage reports whether a workflow has a stage of a kind.
func HasStage(tx *core.Tx, workflowID int64, kind workflow.StageKind) (has bool, err error) {
	err = tx.Row(`SELECT EXISTS (SELECT 1 FROM stage WHERE workflow_id = ? AND kind = ?)`, []any{workflowID, string(kind)}, &has)
	return has, sqlite.Wrap(err, "check for a %s stage of workflow %d", kind, workflowID)
}

// liveJobs returns how many jobs of a workflow are held by a runner.
func liveJobs(tx *core.Tx, workflowID int64) (int64, error) {
	counts, err := core.StatusCounts(tx, workflowID)
	if err != nil {
		return 0, err
	}
	stages, err := RunningStages(tx, workflowID)
	return counts.ByStatus[workflow.Pending] + counts.ByStatus[workflow.Running] - stages, err
}

// countOutside returns how many jobs of the stages after the main one are not complete: of
// all of them, and of compensations only.
func countOutside(tx *core.Tx, workflowID int64) (all, compensations int64, err error) {
	err = tx.Row(`SELECT COUNT(*), COUNT(*) FILTER (WHERE s.kind = 'compensation') FROM stage s JOIN job j ON j.stage_id = s.id AND j.status IN {open}
		WHERE s.id IN (`+outside+`)`, []any{workflowID}, &all, &compensations)
	return all, compensations, sqlite.Wrap(err, "count the jobs behind the main stage of workflow %d", workflowID)
}

// RejectBeforeStage rejects a status that would run a job before its stage, or reopen a
// sub-workflow inside a stage that has not started.
func RejectBeforeStage(tx *core.Tx, r *view.Run, job int64, to workflow.JobStatus) error {
	if !r.Stages {
		return nil
	}
	var early bool
	err := tx.Row(`WITH RECURSIVE own (id, parent_id, state) AS (SELECT s.id, s.parent_id, s.state FROM job j JOIN stage s ON s.id = j.stage_id WHERE j.id = ?1),
		above (parent_id, state) AS (SELECT s.parent_id, s.state FROM own JOIN stage s ON s.id = own.parent_id
			UNION ALL SELECT s.parent_id, s.state FROM above JOIN stage s ON s.id = above.parent_id)
		SELECT EXISTS (SELECT 1 FROM own WHERE iif(state = 'not_started', ?2, EXISTS (SELECT 1 FROM above WHERE state = 'not_started')))`,
		[]any{job, to.IsLive()}, &early)
	if err != nil {
		return fmt.Errorf("find the stage of job %d: %w", job, err)
	}
	if early {
		return workflow.Errorf(workflow.CodeConflict, "job_id=%d cannot become %s: its stage has not started", job, to)
	}
	return nil
}

// startStage starts a stage: its jobs without open dependencies become ready. The
// generation is that of an end stage; other stages count their starts.
func (c *convergence) startStage(s *row.Stage, generation int64, kind workflow.EventType) error {
	tx := c.tx
	if s.Kind != workflow.StageEnd {
		generation = s.Generation + 1
	}
	err := tx.ExecOne(`UPDATE stage SET state = 'running', run_id = ?, generation = ?, started_ms = ?, ended_ms = NULL, verdict = NULL, waits_for = NULL WHERE id = ?`,
		c.run.RunID, generation, tx.NowMS, s.ID)
	if err != nil {
		return fmt.Errorf("start stage %d: %w", s.ID, err)
	}
	payload := stage.StartedPayload{Category: event.CategoryWorkflow, RunID: c.run.RunID, Stage: s.Name, Kind: s.Kind}
	if s.JobID != nil {
		if payload.JobID, payload.JobName, err = c.runStageJob(s); err != nil {
			return err
		}
	}
	if err := tx.Row(`SELECT COUNT(*) FROM job WHERE stage_id = ?`, []any{s.ID}, &payload.Jobs); err != nil {
		return fmt.Errorf("count the jobs of stage %d: %w", s.ID, err)
	}
	if err := tx.Event(c.run.WorkflowID, string(kind), event.SeverityInfo, payload); err != nil {
		return err
	}
	c.stages[s.ID] = true // it may be empty
	return c.releaseStage(s.ID)
}

// runStageJob makes the sub-workflow job of a stage running, without a lease.
func (c *convergence) runStageJob(s *row.Stage) (id int64, name string, err error) {
	id = *s.JobID
	if err := c.tx.Row(`SELECT name FROM job WHERE id = ?`, []any{id}, &name); err != nil {
		return 0, "", fmt.Errorf("read sub-workflow job %d: %w", id, err)
	}
	if err := runStageJob(c.tx, c.run, id, s.JobStatus); err != nil {
		return 0, "", fmt.Errorf("start sub-workflow job %d: %w", id, err)
	}
	return id, name, nil
}

// releaseStage continues the blocked jobs of a stage that have no open dependencies.
func (c *convergence) releaseStage(id int64) error {
	ready, err := releaseStageJobs(c.tx, c.run.WorkflowID, id)
	if err != nil {
		return fmt.Errorf("release the jobs of stage %d: %w", id, err)
	}
	if c.cascade.triggers {
		if err := CountTriggers(c.tx, workflow.Blocked, workflow.Ready, ready); err != nil {
			return err
		}
	}
	c.cascade.touched = append(c.cascade.touched, ready...)
	gates, err := core.IDsOf(c.tx, `SELECT DISTINCT g.id FROM job j JOIN gate g ON g.id = j.gate_id AND g.open = 0 WHERE j.stage_id = ? AND j.status = {blocked}`, id)
	if err != nil {
		return fmt.Errorf("find the open gates of stage %d: %w", id, err)
	}
	return c.cascade.follow(nil, nil, gates)
}

// resetStage makes the jobs of a stage wait for its start. If all are complete, all run
// again; if some are open, because they were reset together with the sub-workflow job, only
// these. Jobs that somebody disabled stay disabled.
func (c *convergence) resetStage(s *row.Stage) error {
	again := `stage_id = ?3 AND status IN ({ready}, {pending}, {running})`
	if !s.Open {
		again = `stage_id = ?3 AND (status BETWEEN {completed} AND {terminated} OR status = {disabled} AND skipped_by = 0)`
	}
	if err := VoidLeases(c.tx, c.run, `stage_id = ?2`, s.ID, "its stage waits again"); err != nil {
		return err
	}
	ids, err := core.IDsOf(c.tx, `SELECT id FROM job WHERE ?1 IS NOT NULL AND ?2 IS NOT NULL AND `+again, 0, 0, s.ID)
	if err != nil {
		return fmt.Errorf("find the jobs of stage %d: %w", s.ID, err)
	}
	if _, err := core.MoveJobs(c.tx, workflow.OpStage, c.run.WorkflowID, workflow.Blocked, AsNew+`, result_id = NULL, `+LeaseVoid, again, s.ID); err != nil {
		return err
	}
	if _, err := raiseGates(c.tx, ids); err != nil {
		return err
	}
	if err := c.tx.ExecOne(`UPDATE stage SET state = 'not_started' WHERE id = ?`, s.ID); err != nil {
		return fmt.Errorf("reset stage %d: %w", s.ID, err)
	}
	c.cascade.touched = append(c.cascade.touched, ids...)
	return c.resetEndOf(s)
}

// resetEndOf makes the end job of a stage wait for its start, if there is one.
func (c *convergence) resetEndOf(s *row.Stage) error {
	if s.Kind == workflow.StageEnd {
		return nil
	}
	end, err := endStage(c.tx, c.run.WorkflowID, &s.ID)
	if err != nil || end == nil || end.State == stage.NotStarted {
		return err
	}
	return c.resetStage(end)
}

// dropStage cancels or disables the jobs of a stage that does not run, as its sub-workflow
// job was.
func (c *convergence) dropStage(s *row.Stage) error {
	tx := c.tx
	ids, err := core.IDsOf(tx, `SELECT j.id FROM stage s JOIN job j ON j.stage_id = s.id AND j.status IN {open}
		WHERE s.id = ?1 OR s.parent_id = ?1 AND s.kind = 'end'`, s.ID)
	if err != nil {
		return fmt.Errorf("find the jobs of stage %d: %w", s.ID, err)
	}
	if err := VoidLeases(tx, c.run, `stage_id = ?2`, s.ID, "its sub-workflow is not run"); err != nil {
		return err
	}
	var skippedBy sql.NullInt64
	if err := tx.Row(`SELECT skipped_by FROM job WHERE id = ?`, []any{*s.JobID}, &skippedBy); err != nil {
		return fmt.Errorf("read sub-workflow job %d: %w", *s.JobID, err)
	}
	to := workflow.Canceled
	switch {
	case s.JobStatus == workflow.Disabled:
		to = workflow.Disabled
	case !skippedBy.Valid:
		skippedBy = sql.NullInt64{Int64: *s.JobID, Valid: true}
	}
	if _, err := core.MoveJobs(tx, workflow.OpStage, c.run.WorkflowID, to, AsNew+`, `+LeaseVoid, `id IN (SELECT value FROM json_each(?3))`, sqlite.IDList(ids)); err != nil {
		return err
	}
	if _, err := tx.Exec(`UPDATE job SET skipped_by = ? WHERE id IN (SELECT value FROM json_each(?))`, skippedBy, sqlite.IDList(ids)); err != nil {
		return fmt.Errorf("skip the jobs of stage %d: %w", s.ID, err)
	}
	if _, err := raiseGates(tx, ids); err != nil {
		return err
	}
	_, err = tx.Exec(`UPDATE stage SET state = 'ended', run_id = ?2, ended_ms = ?3, verdict = NULL WHERE id = ?1 OR parent_id = ?1 AND kind = 'end'`,
		s.ID, c.run.RunID, tx.NowMS)
	if err != nil {
		return fmt.Errorf("drop stage %d: %w", s.ID, err)
	}
	c.cascade.touched = append(c.cascade.touched, ids...)
	c.cascade.note(to, ids, skippedBy.Int64)
	return nil
}
