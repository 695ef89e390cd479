package store

import (
	"context"
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

const failureHandlerColumns = `id, workflow_id, name, rules`

func scanFailureHandler(r rowScanner) (h workflow.FailureHandler, err error) {
	err = r.Scan(&h.ID, &h.WorkflowID, &h.Name, &h.Rules)
	return h, err
}

// CreateFailureHandler stores a failure handler and returns it with its id.
// Rules that cannot be read are refused: nothing would ever follow them.
func (s *Store) CreateFailureHandler(_ context.Context, h workflow.FailureHandler) (workflow.FailureHandler, error) {
	if err := workflow.CheckName("failure handler", h.Name); err != nil {
		return h, err
	}
	if _, err := h.Definition(); err != nil {
		return h, err
	}
	err := s.writer.do("create failure handler", func(tx *Tx) (err error) {
		if err := tx.requireWorkflow(h.WorkflowID); err != nil {
			return err
		}
		h.ID, err = tx.insert(`INSERT INTO failure_handler (workflow_id, name, rules) VALUES (?, ?, ?)`, h.WorkflowID, h.Name, h.Rules)
		if err != nil {
			return fmt.Errorf("insert failure handler %q: %w", h.Name, err)
		}
		return nil
	})
	return h, err
}

// FailureHandler returns a failure handler.
func (s *Store) FailureHandler(ctx context.Context, id int64) (workflow.FailureHandler, error) {
	return readOne(ctx, s.read, "failure_handler", id, `SELECT `+failureHandlerColumns+` FROM failure_handler WHERE id = ?`, scanFailureHandler)
}

// FailureHandlers returns a page of the failure handlers of a workflow, by id.
func (s *Store) FailureHandlers(ctx context.Context, workflowID int64, page Page) ([]workflow.FailureHandler, int64, error) {
	if err := s.requireWorkflow(ctx, workflowID); err != nil {
		return nil, 0, err
	}
	return readList(ctx, s.read, list{
		columns: failureHandlerColumns, from: "failure_handler", filter: where(`workflow_id = ?`, workflowID), id: "id", page: page,
	}, scanFailureHandler)
}

// DeleteFailureHandler deletes a failure handler, which its jobs then are
// without, and returns it.
func (s *Store) DeleteFailureHandler(_ context.Context, id int64) (workflow.FailureHandler, error) {
	var h workflow.FailureHandler
	err := s.writer.do("delete failure handler", func(tx *Tx) (err error) {
		h, err = getOne(tx, "failure_handler", id, `SELECT `+failureHandlerColumns+` FROM failure_handler WHERE id = ?`, scanFailureHandler)
		if err != nil {
			return err
		}
		return tx.execOne(`DELETE FROM failure_handler WHERE id = ?`, id)
	})
	return h, err
}
