package store

import (
	"context"
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

func scanRemoteWorker(r rowScanner) (w workflow.RemoteWorker, err error) {
	err = r.Scan(&w.WorkflowID, &w.Worker)
	return w, err
}

// AddRemoteWorkers stores hosts of a workflow; those that are there already
// stay.
func (s *Store) AddRemoteWorkers(_ context.Context, workflowID int64, workers []string) error {
	return s.writer.do("add remote workers", func(tx *Tx) error {
		if err := tx.requireWorkflow(workflowID); err != nil {
			return err
		}
		for _, worker := range workers {
			_, err := tx.exec(`INSERT INTO remote_worker (workflow_id, worker) VALUES (?, ?) ON CONFLICT DO NOTHING`, workflowID, worker)
			if err != nil {
				return fmt.Errorf("insert remote worker %q of workflow %d: %w", worker, workflowID, err)
			}
		}
		return nil
	})
}

// RemoteWorkers returns the hosts of a workflow, by name.
func (s *Store) RemoteWorkers(ctx context.Context, workflowID int64) ([]workflow.RemoteWorker, error) {
	if err := s.requireWorkflow(ctx, workflowID); err != nil {
		return nil, err
	}
	rows, err := s.read.QueryContext(ctx, `SELECT workflow_id, worker FROM remote_worker WHERE workflow_id = ? ORDER BY worker`, workflowID)
	if err != nil {
		return nil, fmt.Errorf("list the remote workers of workflow %d: %w", workflowID, err)
	}
	workers, err := collect(rows, scanRemoteWorker)
	if err != nil {
		return nil, fmt.Errorf("list the remote workers of workflow %d: %w", workflowID, err)
	}
	return workers, nil
}

// DeleteRemoteWorker removes a host from a workflow.
func (s *Store) DeleteRemoteWorker(_ context.Context, workflowID int64, worker string) error {
	return s.writer.do("delete remote worker", func(tx *Tx) error {
		if err := tx.requireWorkflow(workflowID); err != nil {
			return err
		}
		n, err := tx.exec(`DELETE FROM remote_worker WHERE workflow_id = ? AND worker = ?`, workflowID, worker)
		switch {
		case err != nil:
			return fmt.Errorf("delete remote worker %q of workflow %d: %w", worker, workflowID, err)
		case n == 0:
			return workflow.Errorf(workflow.CodeNotFound, "Worker '%s' not found for workflow %d", worker, workflowID)
		}
		return nil
	})
}
