package record

import (
	"context"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
)

const failureHandlerColumns = `id, workflow_id, name, rules`

func scanFailureHandler(r sqlite.Scanner) (h workflow.FailureHandler, err error) {
	err = r.Scan(&h.ID, &h.WorkflowID, &h.Name, &h.Rules)
	return h, err
}

// Create stores a failure handler and returns it with its id. It rejects invalid rules.
func (s FailureHandlers) Create(ctx context.Context, h workflow.FailureHandler) (workflow.FailureHandler, error) {
	if err := workflow.CheckName("failure handler", h.Name); err != nil {
		return h, err
	}
	if _, err := h.Definition(); err != nil {
		return h, err
	}
	err := s.shared.By(ctx).Do("create failure handler", func(tx *core.Tx) (err error) {
		if err := core.RequireWorkflow(tx, h.WorkflowID); err != nil {
			return err
		}
		h.ID, err = tx.Insert(`INSERT INTO failure_handler (workflow_id, name, rules) VALUES (?, ?, ?)`, h.WorkflowID, h.Name, h.Rules)
		if err != nil {
			return fmt.Errorf("insert failure handler %q: %w", h.Name, err)
		}
		return core.Changed(tx, h.WorkflowID, "create_failure_handler", map[string]any{"name": h.Name})
	})
	return h, err
}

// Get returns a failure handler; CodeNotFound if there is none with this id.
func (s FailureHandlers) Get(ctx context.Context, id int64) (workflow.FailureHandler, error) {
	return view.ReadOne(ctx, s.shared.DB.Read, "failure_handler", id, `SELECT `+failureHandlerColumns+` FROM failure_handler WHERE id = ?`, scanFailureHandler)
}

// List returns a page of the failure handlers of a workflow, by id.
func (s FailureHandlers) List(ctx context.Context, workflowID int64, page sqlite.Page) ([]workflow.FailureHandler, int64, error) {
	if err := view.RequireVisible(ctx, s.shared.DB, workflowID); err != nil {
		return nil, 0, err
	}
	return sqlite.ReadList(ctx, s.shared.DB.Read, sqlite.List{
		Columns: failureHandlerColumns, From: "failure_handler", Filter: sqlite.Where(`workflow_id = ?`, workflowID), ID: "id", Page: page,
	}, scanFailureHandler)
}

// Delete deletes a failure handler and returns it. Its jobs are then without.
func (s FailureHandlers) Delete(ctx context.Context, id int64) (workflow.FailureHandler, error) {
	var h workflow.FailureHandler
	err := s.shared.By(ctx).Do("delete failure handler", func(tx *core.Tx) (err error) {
		h, err = core.GetOne(tx, "failure_handler", id, `SELECT `+failureHandlerColumns+` FROM failure_handler WHERE id = ?`, scanFailureHandler)
		if err != nil {
			return err
		}
		if err := core.Changed(tx, h.WorkflowID, "delete_failure_handler", map[string]any{"name": h.Name}); err != nil {
			return err
		}
		return tx.ExecOne(`DELETE FROM failure_handler WHERE id = ?`, id)
	})
	return h, err
}
