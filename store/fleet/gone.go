package fleet

import (
	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/engine"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

// confirmGone records that the runner has no process of a run that is to be undone, or that
// is to have its end job. An older or repeated turn does not count, since it does not show
// what was voided meanwhile.
func (c *Conversation) confirmGone() error {
	if !c.run.Stages || c.turn.Turn <= c.runner.Turn {
		return nil
	}
	run, err := core.LoadRun(c.tx, c.run.WorkflowID) // its last job may have ended in this turn
	if err != nil {
		return err
	}
	c.run = run
	if len(c.turn.Held) > 0 || c.turn.Dying > 0 {
		return nil
	}
	switch {
	case run.Compensation == stage.CompensationWaiting:
		return engine.ConfirmRunnerGone(c.tx, run, c.runner.ID)
	case run.GivenUp != "" && !run.Ended:
		if err := engine.ConfirmBeforeEnd(c.tx, run, c.runner.ID); err != nil {
			return err
		}
		c.run, err = core.LoadRun(c.tx, run.WorkflowID)
	}
	return err
}
