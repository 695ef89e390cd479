package engine

import (
	"fmt"
	"maps"
	"slices"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/row"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

// convergence updates the stages of a run from their jobs, and sub-workflow jobs from their
// stages, until no step is left: each may cause others.
type convergence struct {
	tx      *core.Tx
	run     *view.Run
	cascade *Cascade
	stages  map[int64]bool // to be checked
}

// ConvergeStages updates all stages of a run.
func ConvergeStages(tx *core.Tx, r *view.Run) error {
	if !r.Stages || r.Halted {
		return nil
	}
	ids, err := core.IDsOf(tx, `SELECT id FROM stage WHERE workflow_id = ?`, r.WorkflowID)
	if err != nil {
		return fmt.Errorf("find the stages of workflow %d: %w", r.WorkflowID, err)
	}
	c, err := newCascade(tx, r)
	if err != nil {
		return err
	}
	return convergeFrom(tx, c, ids)
}

// convergeFrom updates the given stages and those whose jobs a cascade has changed.
func convergeFrom(tx *core.Tx, c *Cascade, stages []int64) error {
	r := c.Run
	if !r.Stages || r.Halted {
		return nil
	}
	v := convergence{tx: tx, run: r, cascade: c, stages: map[int64]bool{}}
	for _, id := range stages {
		v.stages[id] = true
	}
	for acted := true; acted; {
		if err := v.settle(); err != nil {
			return fmt.Errorf("continue the stages of workflow %d: %w", r.WorkflowID, err)
		}
		var err error
		if acted, err = v.stepMain(); err != nil {
			return fmt.Errorf("end workflow %d: %w", r.WorkflowID, err)
		}
	}
	return c.announce()
}

// settle takes steps until none is left for the stages to be checked.
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
		all, err := loadStages(c.tx, `s.id IN (SELECT value FROM json_each(?))`, sqlite.IDList(ids))
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

// gather collects the stages with changed jobs, and those that changed jobs stand for.
func (c *convergence) gather() error {
	touched := c.cascade.touched
	if c.cascade.touched = nil; len(touched) == 0 {
		return nil
	}
	ids, err := core.IDsOf(c.tx, `SELECT DISTINCT s.id FROM json_each(?) e JOIN job j ON j.id = e.value JOIN stage s ON s.id IN (j.stage_id, j.child_id)`, sqlite.IDList(touched))
	if err != nil {
		return err
	}
	for _, id := range ids {
		c.stages[id] = true
	}
	return nil
}

// next returns the next step of a child stage, and its end stage.
func (c *convergence) next(s *row.Stage) (stage.Step, *row.Stage, error) {
	end, err := endStage(c.tx, c.run.WorkflowID, &s.ID)
	if err != nil {
		return stage.StageStay, nil, err
	}
	f := stage.Facts{State: s.State, Job: s.JobStatus, Open: s.Open}
	if end != nil {
		f.End, f.EndOpen = end.State, end.Open
	}
	return f.Next(), end, nil
}

// step takes the next step of one stage.
func (c *convergence) step(s *row.Stage) error {
	switch {
	case s.Kind == workflow.StageCompensation:
		return c.stepCompensation(s)
	case c.run.Canceled: // nothing else continues
		return nil
	case s.Kind == workflow.StageEnd && s.ParentID != nil:
		c.stages[*s.ParentID] = true
		return nil
	case s.Kind != workflow.StageChild || s.JobID == nil:
		return nil
	}
	next, _, err := c.next(s)
	if err != nil || next == stage.StageStay {
		return err // a change of the stage has it checked again
	}
	c.stages[s.ID] = true
	// An earlier step may have changed it since it was read.
	fresh, err := loadStages(c.tx, `s.id = ?`, s.ID)
	if err != nil || len(fresh) == 0 {
		return err
	}
	s = &fresh[0]
	next, end, err := c.next(s)
	if err != nil {
		return err
	}
	switch next {
	case stage.StageStart:
		return c.startStage(s, 0, workflow.EventStageStarted)
	case stage.StageReset:
		return c.resetStage(s)
	case stage.StageDrop:
		return c.dropStage(s)
	case stage.StageReopen:
		return c.reopenStage(s)
	case stage.StageStartEnd:
		return c.startStage(end, s.Generation, workflow.EventEndReached)
	case stage.StageResetEnd:
		return c.resetStage(end)
	case stage.StageFinish:
		return c.finishStage(s, end)
	}
	return nil
}

// stepMain takes the next step of the main stage. It reports whether there was one, since
// it may cause others.
func (c *convergence) stepMain() (acted bool, err error) {
	if c.run.Compensating() {
		return false, nil
	}
	end, err := endStage(c.tx, c.run.WorkflowID, nil)
	if err != nil || end == nil {
		return false, err
	}
	counts, err := core.StatusCounts(c.tx, c.run.WorkflowID)
	if err != nil {
		return false, err
	}
	behind, _, err := countOutside(c.tx, c.run.WorkflowID)
	if err != nil {
		return false, err
	}
	if end.State != stage.NotStarted && (end.RunID != c.run.RunID || end.Generation != c.run.Generation) {
		return true, c.resetStage(end)
	}
	f := stage.Facts{State: stage.Running, Job: workflow.Running, Open: counts.Open() > behind, End: end.State, EndOpen: end.Open}
	if f.Open && c.run.GivenUp != "" { // the open jobs get runners that have confirmed already
		if _, err := ReleaseRunEnd(c.tx, c.run.WorkflowID); err != nil {
			return false, err
		}
	}
	switch f.Next() {
	case stage.StageStartEnd:
		if c.tx.GivingUp == c.run.WorkflowID {
			return false, nil
		}
		if waits, err := awaitRunners(c.tx, c.run); err != nil || waits {
			return false, err
		}
		return true, c.startStage(end, c.run.Generation, workflow.EventEndReached)
	case stage.StageResetEnd:
		return true, c.resetStage(end)
	case stage.StageFinish:
		return false, closeEnd(c.tx, end, c.run.RunID)
	}
	return false, nil
}

// closeEnd ends the end stage of a stage.
func closeEnd(tx *core.Tx, end *row.Stage, runID int64) error {
	if end == nil || end.State == stage.Ended {
		return nil
	}
	err := tx.ExecOne(`UPDATE stage SET state = 'ended', run_id = ?, ended_ms = ? WHERE id = ? AND state = 'running'`, runID, tx.NowMS, end.ID)
	return sqlite.Wrap(err, "end stage %d", end.ID)
}

// reopenStage continues a child stage that had its verdict: its sub-workflow job runs
// again, and the jobs behind that wait.
func (c *convergence) reopenStage(s *row.Stage) error {
	if _, _, err := c.runStageJob(s); err != nil {
		return err
	}
	err := c.tx.ExecOne(`UPDATE stage SET state = 'running', run_id = ?, generation = generation + 1, ended_ms = NULL, verdict = NULL WHERE id = ?`, c.run.RunID, s.ID)
	if err != nil {
		return fmt.Errorf("reopen stage %d: %w", s.ID, err)
	}
	waiting, err := blockBehindOpen(c.tx, c.run.WorkflowID, []int64{*s.JobID})
	if err != nil {
		return err
	}
	c.cascade.touched = append(append(c.cascade.touched, *s.JobID), waiting...)
	return c.releaseStage(s.ID)
}

// SettleStageOf updates the stages after somebody has changed a job's status. The job waits
// for its stage. A sub-workflow job that is still ready waits too: its run does not
// continue.
func SettleStageOf(tx *core.Tx, r *view.Run, job int64) error {
	if err := EndIfOver(tx, r.WorkflowID); err != nil {
		return err
	}
	err := blockBeforeStage(tx, r.WorkflowID, job)
	return sqlite.Wrap(err, "let job %d wait for its stage", job)
}
