package store

import (
	"context"
	"database/sql"
	"errors"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
)

// Identity returns the permanent name of this database, which distinguishes it from all
// others. The first call ever sets it to fresh, which must be unique.
func (s *Store) Identity(ctx context.Context, fresh string) (name string, err error) {
	err = s.db.Read.QueryRowContext(ctx, `SELECT name FROM identity WHERE id = 1`).Scan(&name)
	if errors.Is(err, sql.ErrNoRows) {
		err = s.shared.Do("name the database", func(tx *core.Tx) error {
			// If the name was set meanwhile, it stays.
			return tx.Row(`INSERT INTO identity (id, name) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET name = name RETURNING name`,
				[]any{fresh}, &name)
		})
	}
	return name, sqlite.Wrap(err, "name of the database")
}
