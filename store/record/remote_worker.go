package record

import (
	"context"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

func scanRemoteWorker(r sqlite.Scanner) (w compute.RemoteWorker, err error) {
	err = r.Scan(&w.WorkflowID, &w.Worker)
	return w, err
}

// Add adds hosts to a workflow. Those that exist are kept.
func (s RemoteWorkers) Add(_ context.Context, workflowID int64, workers []string) error {
	return s.shared.Do("add remote workers", func(tx *core.Tx) error {
		if err := core.RequireWorkflow(tx, workflowID); err != nil {
			return err
		}
		for _, worker := range workers {
			_, err := tx.Exec(`INSERT INTO remote_worker (workflow_id, worker) VALUES (?, ?) ON CONFLICT DO NOTHING`, workflowID, worker)
			if err != nil {
				return fmt.Errorf("insert remote worker %q of workflow %d: %w", worker, workflowID, err)
			}
		}
		return nil
	})
}

// List returns the hosts of a workflow, by name.
func (s RemoteWorkers) List(ctx context.Context, workflowID int64) ([]compute.RemoteWorker, error) {
	if err := view.RequireVisible(ctx, s.shared.DB, workflowID); err != nil {
		return nil, err
	}
	workers, err := sqlite.SelectContext(ctx, s.shared.DB.Read, scanRemoteWorker, `SELECT workflow_id, worker FROM remote_worker WHERE workflow_id = ? ORDER BY worker`, workflowID)
	return workers, sqlite.Wrap(err, "list the remote workers of workflow %d", workflowID)
}

// Delete removes a host from a workflow.
func (s RemoteWorkers) Delete(_ context.Context, workflowID int64, worker string) error {
	return s.shared.Do("delete remote worker", func(tx *core.Tx) error {
		if err := core.RequireWorkflow(tx, workflowID); err != nil {
			return err
		}
		n, err := tx.Exec(`DELETE FROM remote_worker WHERE workflow_id = ? AND worker = ?`, workflowID, worker)
		switch {
		case err != nil:
			return fmt.Errorf("delete remote worker %q of workflow %d: %w", worker, workflowID, err)
		case n == 0:
			return workflow.Errorf(workflow.CodeNotFound, "Worker '%s' not found for workflow %d", worker, workflowID)
		}
		return nil
	})
}
