package store

import (
	"fmt"
	"maps"
)

// savepoint runs fn. If it fails, its changes are undone, those before it are
// not.
func (tx *Tx) savepoint(fn func() error) error {
	before := *tx
	before.counts, before.causes = maps.Clone(tx.counts), maps.Clone(tx.causes)
	before.changes.Events = maps.Clone(tx.changes.Events)
	if err := tx.w.exec("SAVEPOINT part"); err != nil {
		return err
	}
	failed := fn()
	if failed != nil {
		tx.closeRows()
		if err := tx.w.exec("ROLLBACK TO part"); err != nil {
			return fmt.Errorf("roll back after %w: %w", failed, err)
		}
		if tx.kept {
			tx.w.forget()
		}
		*tx = before
	}
	if err := tx.w.exec("RELEASE part"); err != nil {
		return err
	}
	return failed
}
