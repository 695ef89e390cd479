package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
)

// Identity returns the name that tells this database from all others, for as
// long as it lives. The first call ever gives it the name fresh, which must be
// unique.
func (s *Store) Identity(ctx context.Context, fresh string) (name string, err error) {
	err = s.db.Read.QueryRowContext(ctx, `SELECT name FROM identity WHERE id = 1`).Scan(&name)
	if errors.Is(err, sql.ErrNoRows) {
		err = s.shared.Do("name the database", func(tx *core.Tx) error {
			// Somebody may have been earlier: then that name stays.
			return tx.Row(`INSERT INTO identity (id, name) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET name = name RETURNING name`,
				[]any{fresh}, &name)
		})
	}
	if err != nil {
		return "", fmt.Errorf("name of the database: %w", err)
	}
	return name, nil
}
