package view

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// NotFound says that a table has no row of an id, in the words that torc's
// clients know.
func NotFound(table string, id int64) error {
	switch table {
	case "workflow":
		return workflow.Errorf(workflow.CodeNotFound, "Workflow not found with ID: %d", id)
	case "job":
		return workflow.Errorf(workflow.CodeNotFound, "Job not found with ID: %d", id)
	}
	return workflow.Errorf(workflow.CodeNotFound, "Resource not found in %s with ID: %d", table, id)
}

// RequireVisible rejects an id that no visible workflow has.
func RequireVisible(ctx context.Context, db *sqlite.DB, id int64) error {
	var one int
	err := db.Read.QueryRowContext(ctx, `SELECT 1 FROM workflow WHERE id = ? AND is_hidden = 0`, id).Scan(&one)
	return OrNotFound(err, "workflow", id)
}

// OrNotFound turns sql.ErrNoRows into a message about the row.
func OrNotFound(err error, table string, id int64) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, sql.ErrNoRows):
		return NotFound(table, id)
	}
	return fmt.Errorf("read %s %d: %w", table, id, err)
}

// ReadOne reads the row of an id.
func ReadOne[T any](ctx context.Context, db *sql.DB, table string, id int64, query string, scan func(sqlite.Scanner) (T, error)) (T, error) {
	item, err := scan(db.QueryRowContext(ctx, query, id))
	return item, OrNotFound(err, table, id)
}

// Text is a JSON column: null where there is nothing.
func Text(raw []byte) any {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	return string(raw)
}

// ScanID reads a row that is an id.
func ScanID(r sqlite.Scanner) (id int64, err error) { return id, r.Scan(&id) }
