package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// notFound says that a table has no row of an id, in the words that torc's
// clients know.
func notFound(table string, id int64) error {
	switch table {
	case "workflow":
		return workflow.Errorf(workflow.CodeNotFound, "Workflow not found with ID: %d", id)
	case "job":
		return workflow.Errorf(workflow.CodeNotFound, "Job not found with ID: %d", id)
	}
	return workflow.Errorf(workflow.CodeNotFound, "Resource not found in %s with ID: %d", table, id)
}

// requireWorkflow refuses an id that no visible workflow has.
func (s *Store) requireWorkflow(ctx context.Context, id int64) error {
	var one int
	err := s.read.QueryRowContext(ctx, `SELECT 1 FROM workflow WHERE id = ? AND is_hidden = 0`, id).Scan(&one)
	return orNotFound(err, "workflow", id)
}

// requireWorkflow refuses an id that no visible workflow has.
func (tx *Tx) requireWorkflow(id int64) error {
	var one int
	err := tx.row(`SELECT 1 FROM workflow WHERE id = ? AND is_hidden = 0`, []any{id}, &one)
	return orNotFound(err, "workflow", id)
}

// orNotFound turns sql.ErrNoRows into a message about the row.
func orNotFound(err error, table string, id int64) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, sql.ErrNoRows):
		return notFound(table, id)
	}
	return fmt.Errorf("read %s %d: %w", table, id, err)
}

// requireIn refuses references to rows that do not exist or that belong to
// another workflow. What names the kind of row to people.
func (tx *Tx) requireIn(table, what string, workflowID int64, ids ...int64) error {
	for _, id := range ids {
		var owner int64
		err := tx.row(`SELECT workflow_id FROM `+table+` WHERE id = ?`, []any{id}, &owner)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return workflow.Errorf(workflow.CodeInvalid, "%s %d does not exist", what, id)
		case err != nil:
			return fmt.Errorf("read %s %d: %w", what, id, err)
		case owner != workflowID:
			return workflow.Errorf(workflow.CodeInvalid, "%s %d belongs to workflow %d, not to workflow %d", what, id, owner, workflowID)
		}
	}
	return nil
}

// sameWorkflow refuses to move a row into another workflow.
func sameWorkflow(table string, id, stored, sent int64) error {
	if stored != sent {
		return workflow.Errorf(workflow.CodeInvalid, "%s %d belongs to workflow %d and cannot be moved to workflow %d", table, id, stored, sent)
	}
	return nil
}

// readOne reads the row of an id.
func readOne[T any](ctx context.Context, db *sql.DB, table string, id int64, query string, scan func(rowScanner) (T, error)) (T, error) {
	item, err := scan(db.QueryRowContext(ctx, query, id))
	return item, orNotFound(err, table, id)
}

// getOne reads the row of an id within a transaction.
func getOne[T any](tx *Tx, table string, id int64, query string, scan func(rowScanner) (T, error)) (T, error) {
	stmt, err := tx.stmt(query)
	if err != nil {
		var zero T
		return zero, err
	}
	item, err := scan(stmt.QueryRowContext(context.Background(), id))
	return item, orNotFound(err, table, id)
}

// text is a JSON column: null where there is nothing.
func text(raw []byte) any {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	return string(raw)
}

// set overwrites a field if there is a new value.
func set[T any](field *T, value *T) {
	if value != nil {
		*field = *value
	}
}

// setOptional overwrites an optional field if there is a new value.
func setOptional[T any](field **T, value *T) {
	if value != nil {
		*field = value
	}
}

// deleteAll runs a statement that deletes rows of a workflow and returns how
// many there were.
func (s *Store) deleteAll(name string, workflowID int64, query string) (n int64, err error) {
	err = s.writer.do(name, func(tx *Tx) (err error) {
		if err := tx.requireWorkflow(workflowID); err != nil {
			return err
		}
		if n, err = tx.exec(query, workflowID); err != nil {
			return fmt.Errorf("%s of workflow %d: %w", name, workflowID, err)
		}
		return nil
	})
	return n, err
}
