package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Tx is the transaction of one use case. It belongs to the writer's goroutine and must not
// be used after the use case has returned.
type Tx struct {
	NowMS     int64 // the time of the use case, in ms since the epoch
	w         *writer
	rows      *sql.Rows // of the latest query
	cached    bool      // a cache has data read in it
	announced any       // for OnCommit
}

// Announce passes a value to OnCommit if the use case is committed.
func (tx *Tx) Announce(what any) { tx.announced = what }

// Cache records that the use case caches what it has read, so that a rollback calls Forget.
func (tx *Tx) Cache() { tx.cached = true }

// Exec runs a statement and returns how many rows it changed.
func (tx *Tx) Exec(query string, args ...any) (int64, error) {
	res, err := tx.result(query, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// Insert runs an INSERT and returns the new row's id.
func (tx *Tx) Insert(query string, args ...any) (int64, error) {
	res, err := tx.result(query, args...)
	if err != nil {
		return 0, err
	}
	return res.LastInsertId()
}

func (tx *Tx) result(query string, args ...any) (sql.Result, error) {
	s, err := tx.Stmt(query)
	if err != nil {
		return nil, err
	}
	return s.ExecContext(context.Background(), args...)
}

// ExecOne runs a statement that must change exactly one row; otherwise it returns ErrNoRow.
func (tx *Tx) ExecOne(query string, args ...any) error {
	n, err := tx.Exec(query, args...)
	if err != nil {
		return err
	}
	if n != 1 {
		return fmt.Errorf("%w: %d rows changed", ErrNoRow, n)
	}
	return nil
}

// ErrNoRow says that an update found no row in the state that it expected.
var ErrNoRow = errors.New("no such row in the expected state")

// Query runs a SELECT. All rows must be read before the next statement.
func (tx *Tx) Query(query string, args ...any) (*sql.Rows, error) {
	s, err := tx.Stmt(query)
	if err != nil {
		return nil, err
	}
	tx.rows, err = s.QueryContext(context.Background(), args...)
	return tx.rows, err
}

// errOpenRows says that a use case runs a statement while it reads the rows of another,
// which has no defined outcome.
var errOpenRows = errors.New("rows of a query are still being read")

// Stmt returns the prepared statement for a query.
func (tx *Tx) Stmt(query string) (*sql.Stmt, error) {
	if tx.closeRows() {
		return nil, fmt.Errorf("%w at %q", errOpenRows, query)
	}
	return tx.w.stmt(query)
}

// closeRows closes the rows of the latest query. It reports whether they were open.
func (tx *Tx) closeRows() (wereOpen bool) {
	if tx.rows == nil {
		return false
	}
	_, err := tx.rows.Columns() // fails when they are closed
	tx.rows.Close()
	tx.rows = nil
	return err == nil
}

// Row runs a SELECT of one row into dest; sql.ErrNoRows if there is none.
func (tx *Tx) Row(query string, args []any, dest ...any) error {
	s, err := tx.Stmt(query)
	if err != nil {
		return err
	}
	return s.QueryRowContext(context.Background(), args...).Scan(dest...)
}

// Part runs fn. If it fails, only its own changes are undone.
func (tx *Tx) Part(fn func() error) error {
	if err := tx.w.exec("SAVEPOINT part"); err != nil {
		return err
	}
	failed := fn()
	if failed != nil {
		tx.closeRows()
		if err := tx.w.exec("ROLLBACK TO part"); err != nil {
			return fmt.Errorf("roll back after %w: %w", failed, err)
		}
		if tx.cached {
			tx.w.forget()
		}
	}
	if err := tx.w.exec("RELEASE part"); err != nil {
		return err
	}
	return failed
}

// Each calls a function for each row of a query.
func (tx *Tx) Each(query string, f func(Scanner) error, args ...any) error {
	rows, err := tx.Query(query, args...)
	return each(rows, err, f)
}
