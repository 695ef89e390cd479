package core

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// RequireWorkflow returns CodeNotFound unless a visible workflow has this id.
func RequireWorkflow(tx *Tx, id int64) error {
	var one int
	err := tx.Row(`SELECT 1 FROM workflow WHERE id = ? AND is_hidden = 0`, []any{id}, &one)
	return view.OrNotFound(err, "workflow", id)
}

// RequireIn rejects references to rows that do not exist or belong to another workflow.
// What names the kind of row in errors.
func RequireIn(tx *Tx, table, what string, workflowID int64, ids ...int64) error {
	for _, id := range ids {
		var owner int64
		err := tx.Row(`SELECT workflow_id FROM `+table+` WHERE id = ?`, []any{id}, &owner)
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

// SameWorkflow rejects moving a row to another workflow.
func SameWorkflow(table string, id, stored, sent int64) error {
	if stored != sent {
		return workflow.Errorf(workflow.CodeInvalid, "%s %d belongs to workflow %d and cannot be moved to workflow %d", table, id, stored, sent)
	}
	return nil
}

// GetOne reads a row by id within a transaction; CodeNotFound if there is none.
func GetOne[T any](tx *Tx, table string, id int64, query string, scan func(sqlite.Scanner) (T, error)) (T, error) {
	stmt, err := tx.Stmt(query)
	if err != nil {
		var zero T
		return zero, err
	}
	item, err := scan(stmt.QueryRowContext(context.Background(), id))
	return item, view.OrNotFound(err, table, id)
}

// Set overwrites a field if there is a new value.
func Set[T any](field *T, value *T) {
	if value != nil {
		*field = *value
	}
}

// SetOptional overwrites an optional field if there is a new value.
func SetOptional[T any](field **T, value *T) {
	if value != nil {
		*field = value
	}
}

// DeleteAll runs a statement that deletes rows of a workflow, and returns how many there
// were.
func DeleteAll(e *Shared, name string, workflowID int64, query string) (n int64, err error) {
	err = e.Do(name, func(tx *Tx) (err error) {
		if err := RequireWorkflow(tx, workflowID); err != nil {
			return err
		}
		n, err = tx.Exec(query, workflowID)
		return sqlite.Wrap(err, "%s of workflow %d", name, workflowID)
	})
	return n, err
}

// IDsOf runs a query for ids.
func IDsOf(tx *Tx, query string, args ...any) ([]int64, error) {
	return sqlite.Select(tx, view.ScanID, query, args...)
}

// IDSet returns ids ascending and unique; nil if there are none.
func IDSet(ids []int64) []int64 {
	if len(ids) == 0 {
		return nil
	}
	set := slices.Clone(ids)
	slices.Sort(set)
	return slices.Compact(set)
}

// GetWorkflow reads a workflow; CodeNotFound if there is none.
func GetWorkflow(tx *Tx, id int64) (workflow.Workflow, error) {
	return GetOne(tx, "workflow", id, view.SelectWorkflow, view.ScanWorkflow)
}
