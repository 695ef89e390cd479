package store

import (
	"context"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/engine"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// ProcessChangedInputs resets the jobs whose command, environment, relations or input data
// have changed since they were initialized, and returns their names. A dry run only returns
// them. Jobs that a runner holds and disabled jobs are left alone.
func (s Workflows) ProcessChangedInputs(ctx context.Context, workflowID int64, dryRun bool, user string) (names []string, err error) {
	if dryRun {
		return s.ChangedInputs(ctx, workflowID)
	}
	err = s.shared.Do("process changed job inputs", func(tx *core.Tx) error {
		r, err := core.LoadRun(tx, workflowID)
		if err != nil {
			return err
		}
		jobs, err := view.ChangedHashes(tx.Query, workflowID)
		if err != nil {
			return err
		}
		var ids []int64
		names, ids = view.Resettable(jobs)
		if err := resetChanged(tx, r, ids); err != nil {
			return err
		}
		return core.UserAction(tx, workflowID, user, "process_changed_job_inputs", map[string]any{
			"reinitialized_count": len(names), "reinitialized_jobs": names,
		})
	})
	return names, err
}

func resetChanged(tx *core.Tx, r *view.Run, ids []int64) error {
	n, err := core.MoveJobs(tx, workflow.OpReset, r.WorkflowID, workflow.Uninitialized, engine.AsNew, `status != {uninitialized} AND id IN (SELECT value FROM json_each(?3))`, sqlite.IDList(ids))
	if err != nil {
		return fmt.Errorf("reset jobs with changed inputs: %w", err)
	}
	if n == 0 {
		return nil
	}
	if err := engine.ReopenDependents(tx, r.WorkflowID, ids); err != nil {
		return err
	}
	return engine.EndIfOver(tx, r.WorkflowID) // stages may have incomplete jobs again
}
