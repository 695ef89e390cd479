package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Identity returns the name that tells this database from all others, for as
// long as it lives. The first call ever gives it the name fresh, which must be
// unique.
func (s *Store) Identity(ctx context.Context, fresh string) (name string, err error) {
	err = s.read.QueryRowContext(ctx, `SELECT name FROM identity WHERE id = 1`).Scan(&name)
	if errors.Is(err, sql.ErrNoRows) {
		err = s.writer.do("name the database", func(tx *Tx) error {
			// Somebody may have been earlier: then that name stays.
			return tx.row(`INSERT INTO identity (id, name) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET name = name RETURNING name`,
				[]any{fresh}, &name)
		})
	}
	if err != nil {
		return "", fmt.Errorf("name of the database: %w", err)
	}
	return name, nil
}
