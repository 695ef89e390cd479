package store

import (
	"fmt"
	"maps"
	"slices"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// convergence brings the stages of a run in line with their jobs, and the
// sub-workflow jobs with their stages, to a fixed point: each step may lead to
// others.
type convergence struct {
	tx      *Tx
	run     *run
	cascade *cascade
	stages  map[int64]bool // to be looked at
}

// converge looks at all stages of a run.
func (tx *Tx) converge(r *run) error {
	if !r.stages || r.halted {
		return nil
	}
	ids, err := tx.idsOf(`SELECT id FROM stage WHERE workflow_id = ?`, r.workflowID)
	if err != nil {
		return fmt.Errorf("find the stages of workflow %d: %w", r.workflowID, err)
	}
	c, err := tx.newCascade(r)
	if err != nil {
		return err
	}
	return tx.convergeFrom(c, ids)
}

// convergeFrom looks at the given stages and at those whose jobs a cascade has
// changed.
func (tx *Tx) convergeFrom(c *cascade, stages []int64) error {
	r := c.run
	if !r.stages || r.halted {
		return nil
	}
	v := convergence{tx: tx, run: r, cascade: c, stages: map[int64]bool{}}
	for _, id := range stages {
		v.stages[id] = true
	}
	for acted := true; acted; {
		if err := v.settle(); err != nil {
			return fmt.Errorf("go on with the stages of workflow %d: %w", r.workflowID, err)
		}
		var err error
		if acted, err = v.stepMain(); err != nil {
			return fmt.Errorf("go on to the end of workflow %d: %w", r.workflowID, err)
		}
	}
	return c.announce()
}

// settle takes steps until there is none left for the stages that are to be
// looked at.
func (c *convergence) settle() error {
	for {
		if err := c.gather(); err != nil {
			return err
		}
		if len(c.stages) == 0 {
			return nil
		}
		ids := slices.Sorted(maps.Keys(c.stages))
		clear(c.stages)
		all, err := c.tx.stagesOf(`s.id IN (SELECT value FROM json_each(?))`, idList(ids))
		if err != nil {
			return err
		}
		for i := range all {
			if err := c.step(&all[i]); err != nil {
				return fmt.Errorf("stage %d: %w", all[i].ID, err)
			}
		}
	}
}

// gather notes the stages of jobs that have changed, and those that they stand
// for.
func (c *convergence) gather() error {
	touched := c.cascade.touched
	if c.cascade.touched = nil; len(touched) == 0 {
		return nil
	}
	ids, err := c.tx.idsOf(`SELECT DISTINCT s.id FROM json_each(?) e JOIN job j ON j.id = e.value JOIN stage s ON s.id IN (j.stage_id, j.child_id)`, idList(touched))
	if err != nil {
		return err
	}
	for _, id := range ids {
		c.stages[id] = true
	}
	return nil
}

// next returns the step that a child stage is to take, and its end stage.
func (c *convergence) next(s *stageRow) (workflow.StageStep, *stageRow, error) {
	end, err := c.tx.endStage(c.run.workflowID, &s.ID)
	if err != nil {
		return workflow.StageStay, nil, err
	}
	f := workflow.StageFacts{State: s.State, Job: s.jobStatus, Open: s.open}
	if end != nil {
		f.End, f.EndOpen = end.State, end.open
	}
	return f.Next(), end, nil
}

// step takes the next step of one stage.
func (c *convergence) step(s *stageRow) error {
	switch {
	case s.Kind == workflow.StageCompensation:
		return c.stepCompensation(s)
	case c.run.canceled: // nothing else of it goes on
		return nil
	case s.Kind == workflow.StageEnd && s.ParentID != nil:
		c.stages[*s.ParentID] = true
		return nil
	case s.Kind != workflow.StageChild || s.JobID == nil:
		return nil
	}
	next, _, err := c.next(s)
	if err != nil || next == workflow.StageStay {
		return err // what changes it meanwhile has it looked at again
	}
	c.stages[s.ID] = true
	// Another step may have changed it since it was read.
	fresh, err := c.tx.stagesOf(`s.id = ?`, s.ID)
	if err != nil || len(fresh) == 0 {
		return err
	}
	s = &fresh[0]
	next, end, err := c.next(s)
	if err != nil {
		return err
	}
	switch next {
	case workflow.StageStart:
		return c.startStage(s, 0, workflow.EventStageStarted)
	case workflow.StageReset:
		return c.resetStage(s)
	case workflow.StageDrop:
		return c.dropStage(s)
	case workflow.StageReopen:
		return c.reopenStage(s)
	case workflow.StageStartEnd:
		return c.startStage(end, s.Generation, workflow.EventEndReached)
	case workflow.StageResetEnd:
		return c.resetStage(end)
	case workflow.StageFinish:
		return c.finishStage(s, end)
	}
	return nil
}

// stepMain takes the next step of the main stage, and reports whether there was
// one that may lead to others.
func (c *convergence) stepMain() (acted bool, err error) {
	if c.run.compensating() {
		return false, nil
	}
	end, err := c.tx.endStage(c.run.workflowID, nil)
	if err != nil || end == nil {
		return false, err
	}
	counts, err := c.tx.statusCounts(c.run.workflowID)
	if err != nil {
		return false, err
	}
	behind, _, err := c.tx.countOutside(c.run.workflowID)
	if err != nil {
		return false, err
	}
	if end.State != workflow.StageNotStarted && (end.RunID != c.run.runID || end.Generation != c.run.generation) {
		return true, c.resetStage(end)
	}
	f := workflow.StageFacts{State: workflow.StageRunning, Job: workflow.Running, Open: counts.Open() > behind, End: end.State, EndOpen: end.open}
	switch f.Next() {
	case workflow.StageStartEnd:
		if waits, err := c.tx.endWaits(c.run); err != nil || waits || c.tx.givingUp == c.run.workflowID {
			return false, err
		}
		return true, c.startStage(end, c.run.generation, workflow.EventEndReached)
	case workflow.StageResetEnd:
		return true, c.resetStage(end)
	case workflow.StageFinish:
		return false, c.tx.endEnd(end, c.run.runID)
	}
	return false, nil
}

// endEnd notes that the end job of a stage has had its word, in a run.
func (tx *Tx) endEnd(end *stageRow, runID int64) error {
	if end == nil || end.State == workflow.StageEnded {
		return nil
	}
	if err := tx.execOne(`UPDATE stage SET state = 'ended', run_id = ?, ended_ms = ? WHERE id = ? AND state = 'running'`, runID, tx.nowMS, end.ID); err != nil {
		return fmt.Errorf("end stage %d: %w", end.ID, err)
	}
	return nil
}

// reopenStage lets a child go on that had its verdict: its sub-workflow job is
// running again, and what is behind that waits.
func (c *convergence) reopenStage(s *stageRow) error {
	if _, _, err := c.runStageJob(s); err != nil {
		return err
	}
	err := c.tx.execOne(`UPDATE stage SET state = 'running', run_id = ?, generation = generation + 1, ended_ms = NULL, verdict = NULL WHERE id = ?`, c.run.runID, s.ID)
	if err != nil {
		return fmt.Errorf("reopen stage %d: %w", s.ID, err)
	}
	waiting, err := c.tx.blockBehindOpen(c.run.workflowID, []int64{*s.JobID})
	if err != nil {
		return err
	}
	c.cascade.touched = append(append(c.cascade.touched, *s.JobID), waiting...)
	return c.releaseStage(s.ID)
}

// settleStageOf brings the stages in line with a job whose status somebody has
// changed. It does not begin before its stage; a sub-workflow job that is ready
// still is one of a run in which nothing goes on, and waits.
func (tx *Tx) settleStageOf(r *run, job int64) error {
	if err := tx.endIfOver(r.workflowID); err != nil {
		return err
	}
	n, err := tx.exec(`UPDATE job SET status = 1, `+notReady+` WHERE id = ? AND status = 2
		AND (child_id IS NOT NULL OR EXISTS (SELECT 1 FROM stage s WHERE s.id = job.stage_id AND s.state != 'running'))`, job)
	if err != nil {
		return fmt.Errorf("let job %d wait for its stage: %w", job, err)
	}
	tx.move(r.workflowID, workflow.Ready, workflow.Blocked, n)
	return nil
}
