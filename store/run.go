package store

import (
	"context"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/engine"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

// Cancel cancels a workflow: jobs that runners hold are canceled, and nothing more is
// claimed. Jobs that have not started stay as they are. Canceling again changes nothing.
func (s Workflows) Cancel(ctx context.Context, id int64) (workflow.Workflow, error) {
	var w workflow.Workflow
	err := s.shared.By(ctx).Do("cancel workflow", func(tx *core.Tx) error {
		r, err := core.LoadRun(tx, id)
		if err != nil {
			return err
		}
		if r.Compensating() {
			const why = stage.CompensationStopped
			if err := engine.EndCompensation(tx, r, why); err != nil {
				return err
			}
			if _, err := engine.CancelAllocations(tx, id, why); err != nil {
				return err
			}
		}
		if !r.Canceled {
			if err := core.Changed(tx, id, "cancel_workflow", nil); err != nil {
				return err
			}
			if err := engine.CancelRun(tx, r); err != nil {
				return err
			}
		}
		w, err = core.GetWorkflow(tx, id)
		return err
	})
	return w, err
}
