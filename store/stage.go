package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// openStatuses are those of jobs that are not complete, as the index of a
// stage's jobs wants them.
const openStatuses = `(0, 1, 2, 3, 4, 10)`

// outside selects the stages of workflow ?1 that are behind the main one: its
// jobs are complete before those of these stages begin.
const outside = `SELECT id FROM stage WHERE workflow_id = ?1 AND kind = 'compensation'
	UNION ALL SELECT id FROM stage WHERE workflow_id = ?1 AND kind = 'end' AND parent_id IS NULL`

// stageRow is a stage with what steps look at.
type stageRow struct {
	workflow.Stage
	jobStatus workflow.JobStatus // of its sub-workflow job
	open      bool               // jobs of it are not complete
}

const stageColumns = `s.id, s.workflow_id, s.kind, s.parent_id, s.name, s.policy, s.state, s.run_id, s.generation, s.started_ms, s.ended_ms, s.verdict,
	p.id, COALESCE(p.status, 0), EXISTS (SELECT 1 FROM job j WHERE j.stage_id = s.id AND j.status IN ` + openStatuses + `)`

const stageTables = `stage s LEFT JOIN job p ON p.child_id = s.id`

func scanStage(r rowScanner) (s stageRow, err error) {
	var policy string
	var verdict sql.NullString
	err = r.Scan(&s.ID, &s.WorkflowID, &s.Kind, &s.ParentID, &s.Name, &policy, &s.State, &s.RunID, &s.Generation, &s.StartedMS, &s.EndedMS, &verdict,
		&s.JobID, &s.jobStatus, &s.open)
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal([]byte(policy), &s.Policy); err != nil {
		return s, fmt.Errorf("read the policy of stage %d: %w", s.ID, err)
	}
	if verdict.Valid {
		if err := json.Unmarshal([]byte(verdict.String), &s.Verdict); err != nil {
			return s, fmt.Errorf("read the verdict of stage %d: %w", s.ID, err)
		}
	}
	return s, nil
}

// Stages returns the stages of a workflow, each behind the one that it belongs
// to, with the numbers of their jobs.
func (s *Store) Stages(ctx context.Context, workflowID int64) ([]workflow.Stage, error) {
	tx, err := s.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	defer tx.Rollback() //nolint:errcheck // a read has nothing to lose
	l := looker{ctx: ctx, tx: tx}
	var one int
	err = l.row(`SELECT 1 FROM workflow WHERE id = ? AND is_hidden = 0`, []any{workflowID}, &one)
	if err := orNotFound(err, "workflow", workflowID); err != nil {
		return nil, err
	}
	all, err := l.stages(`s.workflow_id = ?`, workflowID)
	if err != nil {
		return nil, fmt.Errorf("read the stages of workflow %d: %w", workflowID, err)
	}
	return all, nil
}

// stages reads stages by a condition, with the numbers of their jobs.
func (l *looker) stages(condition string, args ...any) ([]workflow.Stage, error) {
	rows, err := look(l, `SELECT `+stageColumns+` FROM `+stageTables+` WHERE `+condition+` ORDER BY s.id`, args, scanStage)
	if err != nil {
		return nil, err
	}
	if err := l.endCanceled(rows); err != nil {
		return nil, err
	}
	byID, ids, all := map[int64]int{}, make([]int64, len(rows)), make([]workflow.Stage, len(rows))
	for i := range rows {
		all[i], ids[i], byID[rows[i].ID] = rows[i].Stage, rows[i].ID, i
	}
	type group struct {
		stage, n int64
		status   workflow.JobStatus
	}
	groups, err := look(l, `SELECT stage_id, status, COUNT(*) FROM job WHERE stage_id IN (SELECT value FROM json_each(?)) GROUP BY stage_id, status`,
		[]any{idList(ids)}, func(r rowScanner) (g group, err error) { return g, r.Scan(&g.stage, &g.status, &g.n) })
	if err != nil {
		return nil, err
	}
	for _, g := range groups {
		all[byID[g.stage]].Counts[g.status] = g.n
	}
	return all, l.awaited(all)
}

// endCanceled shows the running stages of canceled runs, of which nothing goes on,
// as ended. A reset begins them anew.
func (l *looker) endCanceled(rows []stageRow) error {
	for i := range rows {
		s := &rows[i].Stage
		if s.State != workflow.StageRunning || s.Kind == workflow.StageCompensation {
			continue
		}
		var canceled bool
		if err := l.row(`SELECT is_canceled FROM workflow WHERE id = ?`, []any{s.WorkflowID}, &canceled); err != nil || !canceled {
			return err // all are of one workflow
		}
		s.State = workflow.StageEnded
	}
	return nil
}

// stagesOf reads stages by a condition.
func (tx *Tx) stagesOf(condition string, args ...any) ([]stageRow, error) {
	rows, err := tx.query(`SELECT `+stageColumns+` FROM `+stageTables+` WHERE `+condition+` ORDER BY s.id`, args...)
	if err != nil {
		return nil, fmt.Errorf("read stages: %w", err)
	}
	all, err := collect(rows, scanStage)
	if err != nil {
		return nil, fmt.Errorf("read stages: %w", err)
	}
	return all, nil
}

// endStage returns the end stage of a stage (nil: of the main one); nil if it
// has none.
func (tx *Tx) endStage(workflowID int64, of *int64) (*stageRow, error) {
	all, err := tx.stagesOf(`s.workflow_id = ? AND s.kind = 'end' AND s.parent_id IS ?`, workflowID, of)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return &all[0], nil
}

// countRunningStages counts the sub-workflow jobs of workflow ?1 that are running:
// nobody holds them.
const countRunningStages = `SELECT COUNT(*) FROM stage s JOIN job p ON p.child_id = s.id AND p.status = 4 WHERE s.workflow_id = ?1`

func (tx *Tx) runningStages(workflowID int64) (n int64, err error) {
	if err := tx.row(countRunningStages, []any{workflowID}, &n); err != nil {
		return 0, fmt.Errorf("count the running sub-workflows of workflow %d: %w", workflowID, err)
	}
	return n, nil
}

// hasStage reports whether a workflow has a stage of a kind.
func (tx *Tx) hasStage(workflowID int64, kind workflow.StageKind) (has bool, err error) {
	err = tx.row(`SELECT EXISTS (SELECT 1 FROM stage WHERE workflow_id = ? AND kind = ?)`, []any{workflowID, string(kind)}, &has)
	if err != nil {
		return false, fmt.Errorf("look for a %s stage of workflow %d: %w", kind, workflowID, err)
	}
	return has, nil
}

// liveJobs counts the jobs that somebody holds.
func (tx *Tx) liveJobs(workflowID int64) (int64, error) {
	counts, err := tx.statusCounts(workflowID)
	if err != nil {
		return 0, err
	}
	stages, err := tx.runningStages(workflowID)
	return counts.ByStatus[workflow.Pending] + counts.ByStatus[workflow.Running] - stages, err
}

// countOutside is how many jobs of the stages behind the main one are not
// complete: of all of them, and of compensations alone.
func (tx *Tx) countOutside(workflowID int64) (all, compensations int64, err error) {
	err = tx.row(`SELECT COUNT(*), COUNT(*) FILTER (WHERE s.kind = 'compensation') FROM stage s JOIN job j ON j.stage_id = s.id AND j.status IN `+openStatuses+`
		WHERE s.id IN (`+outside+`)`, []any{workflowID}, &all, &compensations)
	if err != nil {
		return 0, 0, fmt.Errorf("count the jobs behind the main stage of workflow %d: %w", workflowID, err)
	}
	return all, compensations, nil
}

// refuseBeforeStage refuses a status with which a job would run before its stage,
// or open a sub-workflow again that is in one which has not started.
func (tx *Tx) refuseBeforeStage(r *run, job int64, to workflow.JobStatus) error {
	if !r.stages {
		return nil
	}
	var early bool
	err := tx.row(`WITH RECURSIVE own (id, parent_id, state) AS (SELECT s.id, s.parent_id, s.state FROM job j JOIN stage s ON s.id = j.stage_id WHERE j.id = ?1),
		above (parent_id, state) AS (SELECT s.parent_id, s.state FROM own JOIN stage s ON s.id = own.parent_id
			UNION ALL SELECT s.parent_id, s.state FROM above JOIN stage s ON s.id = above.parent_id)
		SELECT EXISTS (SELECT 1 FROM own WHERE iif(state = 'not_started', ?2, EXISTS (SELECT 1 FROM above WHERE state = 'not_started')))`,
		[]any{job, to.IsLive()}, &early)
	if err != nil {
		return fmt.Errorf("look for the stage of job %d: %w", job, err)
	}
	if early {
		return workflow.Errorf(workflow.CodeConflict, "job_id=%d cannot become %s: its stage has not started", job, to)
	}
	return nil
}

// startStage begins a stage: its jobs that have nothing open before them become
// ready. The generation is that of an end; others count their starts.
func (c *convergence) startStage(s *stageRow, generation int64, event workflow.EventType) error {
	tx := c.tx
	if s.Kind != workflow.StageEnd {
		generation = s.Generation + 1
	}
	err := tx.execOne(`UPDATE stage SET state = 'running', run_id = ?, generation = ?, started_ms = ?, ended_ms = NULL, verdict = NULL, waits_for = NULL WHERE id = ?`,
		c.run.runID, generation, tx.nowMS, s.ID)
	if err != nil {
		return fmt.Errorf("start stage %d: %w", s.ID, err)
	}
	payload := workflow.StageStartedPayload{Category: workflow.CategoryWorkflow, RunID: c.run.runID, Stage: s.Name, Kind: s.Kind}
	if s.JobID != nil {
		if payload.JobID, payload.JobName, err = c.runStageJob(s); err != nil {
			return err
		}
	}
	if err := tx.row(`SELECT COUNT(*) FROM job WHERE stage_id = ?`, []any{s.ID}, &payload.Jobs); err != nil {
		return fmt.Errorf("count the jobs of stage %d: %w", s.ID, err)
	}
	if err := tx.event(c.run.workflowID, string(event), workflow.SeverityInfo, payload); err != nil {
		return err
	}
	c.stages[s.ID] = true // it may have no jobs
	return c.releaseStage(s.ID)
}

// runStageJob makes the sub-workflow job of a stage running: nobody has a lease
// on it.
func (c *convergence) runStageJob(s *stageRow) (id int64, name string, err error) {
	id = *s.JobID
	if err := c.tx.row(`SELECT name FROM job WHERE id = ?`, []any{id}, &name); err != nil {
		return 0, "", fmt.Errorf("read sub-workflow job %d: %w", id, err)
	}
	err = c.tx.execOne(`UPDATE job SET status = 4, fence = fence + 1, compute_node_id = NULL, claimed_ms = NULL, start_ms = ?, not_before_ms = 0,
			skipped_by = NULL, ended_by = NULL, result_id = NULL,
			attempt_id = 1 + COALESCE((SELECT MAX(a.attempt_id) FROM attempt a WHERE a.job_id = job.id AND a.run_id = ?), 0)
		WHERE id = ? AND status = ?`, c.tx.nowMS, c.run.runID, id, int64(s.jobStatus))
	if err != nil {
		return 0, "", fmt.Errorf("start sub-workflow job %d: %w", id, err)
	}
	c.tx.move(c.run.workflowID, s.jobStatus, workflow.Running, 1)
	return id, name, nil
}

// releaseStage lets the blocked jobs of a stage go on that have nothing open
// before them.
func (c *convergence) releaseStage(id int64) error {
	ready, err := c.tx.idsOf(`UPDATE job SET status = 2 WHERE stage_id = ? AND status = 1 AND gate_id IS NULL RETURNING id`, id)
	if err != nil {
		return fmt.Errorf("release the jobs of stage %d: %w", id, err)
	}
	c.tx.move(c.run.workflowID, workflow.Blocked, workflow.Ready, int64(len(ready)))
	if c.cascade.triggers {
		if err := c.tx.trigger(workflow.Blocked, workflow.Ready, ready); err != nil {
			return err
		}
	}
	c.cascade.touched = append(c.cascade.touched, ready...)
	gates, err := c.tx.idsOf(`SELECT DISTINCT g.id FROM job j JOIN gate g ON g.id = j.gate_id AND g.open = 0 WHERE j.stage_id = ? AND j.status = 1`, id)
	if err != nil {
		return fmt.Errorf("find the open gates of stage %d: %w", id, err)
	}
	return c.cascade.follow(nil, nil, gates)
}

// resetStage makes the jobs of a stage wait for its start. If all of them are
// complete, they begin anew; if some are open, as they were reset together with
// the sub-workflow job, only these. What somebody disabled stays so.
func (c *convergence) resetStage(s *stageRow) error {
	again := `stage_id = ?3 AND status IN (2, 3, 4)`
	if !s.open {
		again = `stage_id = ?3 AND (status BETWEEN 5 AND 8 OR status = 9 AND skipped_by = 0)`
	}
	if err := c.tx.voidLeases(c.run, `stage_id = ?2`, s.ID, "its stage waits again"); err != nil {
		return err
	}
	ids, err := c.tx.idsOf(`SELECT id FROM job WHERE ?1 IS NOT NULL AND ?2 IS NOT NULL AND `+again, 0, 0, s.ID)
	if err != nil {
		return fmt.Errorf("find the jobs of stage %d: %w", s.ID, err)
	}
	if _, err := c.tx.moveJobs(c.run.workflowID, workflow.Blocked, asNew+`, result_id = NULL, fence = fence + (status IN (3, 4))`, again, s.ID); err != nil {
		return err
	}
	if _, err := c.tx.raise(ids); err != nil {
		return err
	}
	if err := c.tx.execOne(`UPDATE stage SET state = 'not_started' WHERE id = ?`, s.ID); err != nil {
		return fmt.Errorf("reset stage %d: %w", s.ID, err)
	}
	c.cascade.touched = append(c.cascade.touched, ids...)
	return c.resetEndOf(s)
}

// resetEndOf makes the end job of a stage wait, if it has one.
func (c *convergence) resetEndOf(s *stageRow) error {
	if s.Kind == workflow.StageEnd {
		return nil
	}
	end, err := c.tx.endStage(c.run.workflowID, &s.ID)
	if err != nil || end == nil || end.State == workflow.StageNotStarted {
		return err
	}
	return c.resetStage(end)
}

// dropStage cancels the jobs of a stage that does not run, or disables them, as
// its sub-workflow job was.
func (c *convergence) dropStage(s *stageRow) error {
	tx := c.tx
	ids, err := tx.idsOf(`SELECT j.id FROM stage s JOIN job j ON j.stage_id = s.id AND j.status IN `+openStatuses+`
		WHERE s.id = ?1 OR s.parent_id = ?1 AND s.kind = 'end'`, s.ID)
	if err != nil {
		return fmt.Errorf("find the jobs of stage %d: %w", s.ID, err)
	}
	if err := tx.voidLeases(c.run, `stage_id = ?2`, s.ID, "its sub-workflow is not run"); err != nil {
		return err
	}
	var skippedBy sql.NullInt64
	if err := tx.row(`SELECT skipped_by FROM job WHERE id = ?`, []any{*s.JobID}, &skippedBy); err != nil {
		return fmt.Errorf("read sub-workflow job %d: %w", *s.JobID, err)
	}
	to := workflow.Canceled
	switch {
	case s.jobStatus == workflow.Disabled:
		to = workflow.Disabled
	case !skippedBy.Valid:
		skippedBy = sql.NullInt64{Int64: *s.JobID, Valid: true}
	}
	if _, err := tx.moveJobs(c.run.workflowID, to, asNew+`, fence = fence + (status IN (3, 4))`, `id IN (SELECT value FROM json_each(?3))`, idList(ids)); err != nil {
		return err
	}
	if _, err := tx.exec(`UPDATE job SET skipped_by = ? WHERE id IN (SELECT value FROM json_each(?))`, skippedBy, idList(ids)); err != nil {
		return fmt.Errorf("skip the jobs of stage %d: %w", s.ID, err)
	}
	if _, err := tx.raise(ids); err != nil {
		return err
	}
	_, err = tx.exec(`UPDATE stage SET state = 'ended', run_id = ?2, ended_ms = ?3, verdict = NULL WHERE id = ?1 OR parent_id = ?1 AND kind = 'end'`,
		s.ID, c.run.runID, tx.nowMS)
	if err != nil {
		return fmt.Errorf("drop stage %d: %w", s.ID, err)
	}
	c.cascade.touched = append(c.cascade.touched, ids...)
	c.cascade.note(to, ids, skippedBy.Int64)
	return nil
}
