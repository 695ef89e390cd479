package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// inspectFile checks a database on a local disk through a read-only connection, so that a
// rejected one is not changed.
func inspectFile(ctx context.Context, o *Options, lock *fileLock) error {
	if _, err := os.Stat(o.Path); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	db, err := sql.Open("sqlite3", dsn(o.Path, "ro", url.Values{}))
	if err != nil {
		return fmt.Errorf("open database %s: %w", o.Path, err)
	}
	defer db.Close()
	conn, err := db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("open database %s: %w", o.Path, err)
	}
	defer conn.Close()
	version, err := inspect(ctx, conn, o.Path)
	if err == nil && version > 0 {
		_, err = refuseOwned(ctx, conn, o, lock.works())
	}
	return explainDamage(ctx, conn, err)
}

// inspect returns the schema version of a database, 0 for an empty one, or an error if this
// program cannot use it. It changes nothing.
func inspect(ctx context.Context, q rowQuerier, path string) (version int, err error) {
	var app, tables, torc int
	for _, ask := range []struct {
		query string
		into  *int
	}{
		{`SELECT COUNT(*) FROM sqlite_schema`, &tables},
		{`PRAGMA user_version`, &version},
		{`PRAGMA application_id`, &app},
		{torcTables, &torc},
	} {
		if err := q.QueryRowContext(ctx, ask.query).Scan(ask.into); err != nil {
			return 0, fmt.Errorf("read the schema of %s: %w", path, err)
		}
	}
	other := workflow.Errorf(workflow.CodeUnsupported, "%s is the database of another program", path).
		WithHint("nothing was changed; choose another path")
	switch known := SchemaVersion(); {
	case torc > 0:
		other.Message = path + " is a database of torc, which has another schema"
		return 0, other
	case app == 0 && version == 0 && tables == 0:
		return 0, nil
	case app != applicationID || version == 0:
		return 0, other
	case version > known:
		return 0, workflow.Errorf(workflow.CodeUnsupported, "database %s has schema version %d, but this program supports only versions up to %d", path, version, known).
			WithHint("use the newer torc-slurm that wrote it; nothing was changed")
	}
	return version, sameHistory(ctx, q, path, version)
}

// OfTorc reports whether a file is a database of torc, which Open rejects. It returns false
// for an unreadable file; Open says why.
func OfTorc(ctx context.Context, path string) bool {
	if _, err := os.Stat(path); err != nil {
		return false
	}
	db, err := sql.Open("sqlite3", dsn(path, "ro", url.Values{"_busy_timeout": {"0"}}))
	if err != nil {
		return false
	}
	defer db.Close()
	var tables int
	err = db.QueryRowContext(ctx, torcTables).Scan(&tables)
	return err == nil && tables > 0
}

// torcTables counts the tables that only databases of torc have.
const torcTables = `SELECT COUNT(*) FROM sqlite_schema WHERE name = '_sqlx_migrations'`
