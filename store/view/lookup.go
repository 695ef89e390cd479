package view

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// NotFound returns the error for a missing row, with the text that torc's clients
// recognize.
func NotFound(table string, id int64) error {
	switch table {
	case "workflow":
		return workflow.Errorf(workflow.CodeNotFound, "Workflow not found with ID: %d", id)
	case "job":
		return workflow.Errorf(workflow.CodeNotFound, "Job not found with ID: %d", id)
	}
	return workflow.Errorf(workflow.CodeNotFound, "Resource not found in %s with ID: %d", table, id)
}

// RequireVisible returns CodeNotFound unless a visible workflow has this id.
func RequireVisible(ctx context.Context, db *sqlite.DB, id int64) error {
	var one int
	err := db.Read.QueryRowContext(ctx, `SELECT 1 FROM workflow WHERE id = ? AND is_hidden = 0`, id).Scan(&one)
	return OrNotFound(err, "workflow", id)
}

// OrNotFound turns sql.ErrNoRows into NotFound.
func OrNotFound(err error, table string, id int64) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, sql.ErrNoRows):
		return NotFound(table, id)
	}
	return fmt.Errorf("read %s %d: %w", table, id, err)
}

// ReadOne reads a row by id; CodeNotFound if there is none.
func ReadOne[T any](ctx context.Context, db *sql.DB, table string, id int64, query string, scan func(sqlite.Scanner) (T, error)) (T, error) {
	item, err := scan(db.QueryRowContext(ctx, query, id))
	return item, OrNotFound(err, table, id)
}

// Text returns a JSON column for an answer: nil if it is empty.
func Text(raw []byte) any {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	return string(raw)
}

// ScanID reads a row that consists of an id.
func ScanID(r sqlite.Scanner) (id int64, err error) { return id, r.Scan(&id) }
