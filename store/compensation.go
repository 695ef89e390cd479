package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// inCompensation is a condition for jobs of workflow ?1.
const inCompensation = `stage_id IN (SELECT id FROM stage WHERE workflow_id = ?1 AND kind = 'compensation')`

// besideCompensation is a condition for the other jobs of workflow ?1.
const besideCompensation = `(stage_id IS NULL OR NOT ` + inCompensation + `)`

// started is a condition for attempts a: their processes began, or may have. Those
// of jobs that nobody claimed in time have no runner.
const started = `a.cause != 'launch' AND (a.compute_node_id IS NOT NULL OR a.start_ms IS NOT NULL)`

// begun is a condition for jobs x: some attempt of theirs began, and has not been
// undone since; or a runner held it when the run was canceled, and may have begun.
const begun = `(x.status = 7 AND x.claimed_ms IS NOT NULL OR EXISTS (SELECT 1 FROM attempt a WHERE a.job_id = x.id AND ` + started + `
	AND NOT EXISTS (SELECT 1 FROM job v JOIN attempt u ON u.job_id = v.id
		WHERE v.undoes_id = x.id AND v.workflow_id = x.workflow_id AND u.status = 5 AND (u.run_id > a.run_id OR u.run_id = a.run_id AND u.end_ms >= a.end_ms))))`

// compensate begins to undo a run with a verdict, if it is to be undone, there is
// something to do, and it was not yet: it is at most once in a run. Its jobs may be
// claimed when the runners have confirmed that no process of the run is left.
func (tx *Tx) compensate(r *run, verdict workflow.EventType) error {
	if !r.stages || r.compensation != "" {
		return nil
	}
	p, err := r.policy()
	if err != nil {
		return err
	}
	within, wanted := p.Compensates(verdict)
	if !wanted {
		return nil
	}
	if some, err := tx.hasStage(r.workflowID, workflow.StageCompensation); err != nil || !some {
		return err
	}
	jobs, err := tx.readyCompensation(r)
	if err != nil || jobs == 0 {
		return err
	}
	runners, err := tx.presentRunners(r.workflowID)
	if err != nil {
		return err
	}
	deadline := tx.nowMS + within.Milliseconds()
	_, err = tx.exec(`INSERT INTO compensation (workflow_id, run_id, generation, verdict, state, waits_for, started_ms, deadline_ms)
		VALUES (?, ?, ?, ?, 'waiting', ?, ?, ?)`, r.workflowID, r.runID, r.generation, string(verdict), runners, tx.nowMS, deadline)
	if err != nil {
		return fmt.Errorf("begin to undo run %d of workflow %d: %w", r.runID, r.workflowID, err)
	}
	r.compensation, r.halted = workflow.CompensationWaiting, false
	err = tx.event(r.workflowID, string(workflow.EventCompensationStarted), workflow.SeverityWarning, workflow.CompensationPayload{
		Category: workflow.CategoryWorkflow, WorkflowID: r.workflowID, RunID: r.runID, EndGeneration: r.generation, Verdict: verdict,
		Jobs: jobs, DeadlineMS: deadline,
	})
	if err != nil {
		return err
	}
	if err := tx.everyRunner(r.workflowID); err != nil {
		return err
	}
	return tx.releaseCompensation(r)
}

// needlessUndo is a condition for jobs of a compensation: undos of jobs that never
// began, which wait for what is before them. They are disabled when it is their
// turn, as what is behind them waits for all that is undone before.
const needlessUndo = `status = 1 AND skipped_by = 0`

// readyCompensation makes the jobs of a compensation wait for its start, and
// returns how many there are, not counting the undos of jobs that never began.
func (tx *Tx) readyCompensation(r *run) (int64, error) {
	const needed = inCompensation + ` AND (undoes_id IS NULL OR EXISTS (SELECT 1 FROM job x WHERE x.id = job.undoes_id AND ` + begun + `))`
	jobs, err := tx.moveJobs(r.workflowID, workflow.Blocked, asNew+`, result_id = NULL`, needed)
	if err != nil || jobs == 0 {
		return 0, err
	}
	if _, err := tx.moveJobs(r.workflowID, workflow.Disabled, asNew+`, result_id = NULL, skipped_by = 0`, inCompensation+` AND status != 1`); err != nil {
		return 0, err
	}
	if _, err := tx.moveJobs(r.workflowID, workflow.Blocked, `skipped_by = 0`, inCompensation+` AND status = 9 AND gate_id IS NOT NULL`); err != nil {
		return 0, err
	}
	return jobs, tx.countGates(r.workflowID)
}

// releaseCompensation lets the jobs of a compensation begin that waits, if no
// runner may have processes of the run any more.
func (tx *Tx) releaseCompensation(r *run) error {
	var waits bool
	err := tx.row(`SELECT EXISTS (SELECT 1 FROM compensation c, json_each(c.waits_for) e JOIN compute_node n ON n.id = e.value AND n.is_active = 1
		WHERE c.workflow_id = ? AND c.run_id = ?)`, []any{r.workflowID, r.runID}, &waits)
	if err != nil {
		return fmt.Errorf("look for processes of workflow %d: %w", r.workflowID, err)
	}
	if waits {
		return nil
	}
	err = tx.execOne(`UPDATE compensation SET state = 'running', waits_for = '[]' WHERE workflow_id = ? AND run_id = ? AND state = 'waiting'`, r.workflowID, r.runID)
	if err != nil {
		return fmt.Errorf("go on to undo workflow %d: %w", r.workflowID, err)
	}
	r.compensation = workflow.CompensationRunning
	stages, err := tx.stagesOf(`s.workflow_id = ? AND s.kind = 'compensation'`, r.workflowID)
	if err != nil {
		return err
	}
	c, err := tx.newCascade(r)
	if err != nil {
		return err
	}
	v := convergence{tx: tx, run: r, cascade: c, stages: map[int64]bool{}}
	for i := range stages {
		if err := v.startStage(&stages[i], 0, workflow.EventStageStarted); err != nil {
			return err
		}
	}
	if err := v.settle(); err != nil { // it may have no job that is needed
		return err
	}
	if err := c.announce(); err != nil {
		return err
	}
	tx.ready(r.workflowID)
	return tx.everyRunner(r.workflowID)
}

// confirmGone notes that a runner has no process of the run any more.
func (tx *Tx) confirmGone(r *run, runner int64) error {
	n, err := tx.exec(`UPDATE compensation SET waits_for = (SELECT json_group_array(value) FROM json_each(waits_for) WHERE value != ?3)
		WHERE workflow_id = ?1 AND run_id = ?2 AND state = 'waiting' AND EXISTS (SELECT 1 FROM json_each(waits_for) WHERE value = ?3)`,
		r.workflowID, r.runID, runner)
	if err != nil {
		return fmt.Errorf("note that runner %d has no process of workflow %d: %w", runner, r.workflowID, err)
	}
	if n == 0 {
		return nil
	}
	return tx.releaseCompensation(r)
}

// passNeedless disables the undos behind gates that are not needed, and returns
// them.
func (c *cascade) passNeedless(gates string) ([]int64, error) {
	ids, err := c.tx.idsOf(`UPDATE job SET status = 9 WHERE gate_id IN (SELECT value FROM json_each(?)) AND `+needlessUndo+` RETURNING id`, gates)
	if err != nil {
		return nil, fmt.Errorf("disable undos that are not needed: %w", err)
	}
	c.touched = append(c.touched, ids...)
	c.tx.move(c.run.workflowID, workflow.Blocked, workflow.Disabled, int64(len(ids)))
	return ids, nil
}

// refuseResting refuses what would have a job of a compensation repeated that
// does not run: nothing would begin it.
func (tx *Tx) refuseResting(r *run, job int64) error {
	if !r.stages || r.compensation == workflow.CompensationRunning {
		return nil
	}
	if of, err := tx.compensates(r, job); err != nil || !of {
		return err
	}
	return workflow.Errorf(workflow.CodeConflict, "job_id=%d is of a compensation, which does not run", job).
		WithHint("a compensation runs once, after a run that failed or was canceled; repeat the workflow with reset")
}

// compensates reports whether a job is of a compensation.
func (tx *Tx) compensates(r *run, job int64) (is bool, err error) {
	err = tx.row(`SELECT EXISTS (SELECT 1 FROM job WHERE workflow_id = ?1 AND id = ?2 AND `+inCompensation+`)`, []any{r.workflowID, job}, &is)
	if err != nil {
		return false, fmt.Errorf("look for the compensation of job %d: %w", job, err)
	}
	return is, nil
}

// refuseEnd refuses to end a job by somebody's word while its run is being undone,
// of which the verdict stands; those of the compensation end while it runs.
func (tx *Tx) refuseEnd(r *run, job int64) error {
	if err := tx.refuseResting(r, job); err != nil || !r.compensating() {
		return err
	}
	if of, err := tx.compensates(r, job); err != nil || of {
		return err
	}
	return r.refuseWhileCompensating()
}

// stepCompensation ends the stage of a compensation whose jobs are complete.
func (c *convergence) stepCompensation(s *stageRow) error {
	if s.State != workflow.StageRunning || s.open || c.run.compensation != workflow.CompensationRunning {
		return nil
	}
	if err := c.cascade.announce(); err != nil {
		return err
	}
	return c.tx.finishCompensation(c.run, s, "")
}

// finishCompensation gives a compensation its end: a reason says why before all of
// it was done.
func (tx *Tx) finishCompensation(r *run, s *stageRow, reason string) error {
	v, err := stageVerdict(tx.each, &s.Stage, r.runID)
	if err != nil {
		return err
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("end stage %d: %w", s.ID, err)
	}
	if err := tx.execOne(`UPDATE stage SET state = 'ended', ended_ms = ?, verdict = ? WHERE id = ?`, tx.nowMS, string(text), s.ID); err != nil {
		return fmt.Errorf("end stage %d: %w", s.ID, err)
	}
	state, event, severity := workflow.CompensationCompleted, workflow.EventCompensationCompleted, workflow.SeverityInfo
	if !v.Succeeded() || reason != "" {
		state, event, severity = workflow.CompensationFailed, workflow.EventCompensationFailed, workflow.SeverityError
	}
	p := workflow.CompensationPayload{
		Category: workflow.CategoryWorkflow, WorkflowID: r.workflowID, RunID: r.runID, Jobs: v.TotalSteps - v.Disabled, Text: v.Text(), Reason: reason,
	}
	err = tx.row(`UPDATE compensation SET state = ?, reason = ?, waits_for = '[]', ended_ms = ? WHERE workflow_id = ? AND run_id = ? AND state IN ('waiting', 'running')
		RETURNING generation, verdict, deadline_ms`, []any{string(state), reason, tx.nowMS, r.workflowID, r.runID}, &p.EndGeneration, &p.Verdict, &p.DeadlineMS)
	if err != nil {
		return fmt.Errorf("end the undoing of workflow %d: %w", r.workflowID, err)
	}
	r.compensation = state
	tx.changes.Ended = appendNew(tx.changes.Ended, []int64{r.workflowID})
	if err := tx.everyRunner(r.workflowID); err != nil {
		return err
	}
	return tx.event(r.workflowID, string(event), severity, p)
}

// endCompensation ends a compensation early: what runs is ended, and what is left
// is canceled.
func (tx *Tx) endCompensation(r *run, reason string) error {
	const left = inCompensation + ` AND status NOT BETWEEN 5 AND 9`
	if err := tx.voidLeases(r, inCompensation, 0, "undoing the run was ended: "+reason); err != nil {
		return err
	}
	if _, err := tx.moveJobs(r.workflowID, workflow.Disabled, `skipped_by = 0`, inCompensation+` AND `+needlessUndo); err != nil {
		return err
	}
	if _, err := tx.moveJobs(r.workflowID, workflow.Canceled, `fence = fence + (status IN (3, 4)), not_before_ms = 0, phase = 0, recovery = NULL, hold = NULL, `+notReady, left); err != nil {
		return err
	}
	if err := tx.countGates(r.workflowID); err != nil {
		return err
	}
	stages, err := tx.stagesOf(`s.workflow_id = ? AND s.kind = 'compensation'`, r.workflowID)
	if err != nil {
		return err
	}
	for i := range stages {
		stages[i].RunID = r.runID
		if err := tx.finishCompensation(r, &stages[i], reason); err != nil {
			return err
		}
	}
	return nil
}

// LookAfterCompensations lets compensations begin whose runners are gone, and ends
// those that have taken too long. It is cheap while there are none.
func (s *Store) LookAfterCompensations(ctx context.Context) error {
	open, err := s.openCompensations(ctx)
	if err != nil || len(open) == 0 {
		return err
	}
	return s.writer.do("look after compensations", func(tx *Tx) error {
		for _, id := range open {
			if err := tx.lookAfterCompensation(id); err != nil {
				return fmt.Errorf("look after the compensation of workflow %d: %w", id, err)
			}
		}
		return nil
	})
}

// openCompensations are the workflows with something to do now.
func (s *Store) openCompensations(ctx context.Context) ([]int64, error) {
	rows, err := s.read.QueryContext(ctx, `SELECT c.workflow_id FROM compensation c JOIN workflow w ON w.id = c.workflow_id AND w.is_hidden = 0
		WHERE c.state IN ('waiting', 'running') AND (c.state = 'waiting' OR c.deadline_ms <= ?)`, s.now().UnixMilli())
	if err != nil {
		return nil, fmt.Errorf("look for compensations: %w", err)
	}
	open, err := collect(rows, scanID)
	if err != nil {
		return nil, fmt.Errorf("look for compensations: %w", err)
	}
	return open, nil
}

func (tx *Tx) lookAfterCompensation(workflowID int64) error {
	r, err := tx.run(workflowID)
	if err != nil || !r.compensating() {
		return err
	}
	var deadline int64
	err = tx.row(`SELECT deadline_ms FROM compensation WHERE workflow_id = ? AND run_id = ?`, []any{workflowID, r.runID}, &deadline)
	switch {
	case err != nil:
		return err
	case tx.nowMS >= deadline:
		return tx.endCompensation(r, "it took longer than its timeout")
	case r.compensation == workflow.CompensationWaiting:
		return tx.releaseCompensation(r)
	}
	return nil
}
