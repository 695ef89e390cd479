package store

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"time"
)

//go:embed migration/*.sql
var migrations embed.FS

// applicationID marks our database files ("TORC" in ASCII).
const applicationID = 0x544f5243

// SchemaVersion is the version of the schema that this release writes: the
// number of its migrations.
func SchemaVersion() int {
	names, err := fs.Glob(migrations, "migration/*.sql")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	return len(names)
}

// migrate brings the schema up to date, one transaction for each migration,
// after a backup beside the file if there is something to lose.
func migrate(ctx context.Context, conn *sql.Conn, path string, version int, now time.Time) error {
	want := SchemaVersion()
	if version == want {
		return nil
	}
	if version > 0 {
		backup := fmt.Sprintf("%s.v%d-%s.bak", path, version, now.UTC().Format("20060102T150405Z"))
		if _, err := conn.ExecContext(ctx, `VACUUM INTO ?`, backup); err != nil {
			return fmt.Errorf("back up %s before its migration: %w", path, err)
		}
	}
	names, err := fs.Glob(migrations, "migration/*.sql")
	if err != nil {
		return err
	}
	for v := version + 1; v <= want; v++ {
		if err := apply(ctx, conn, names[v-1], v); err != nil {
			return fmt.Errorf("migrate %s to schema version %d: %w", path, v, err)
		}
	}
	return nil
}

func apply(ctx context.Context, conn *sql.Conn, name string, version int) error {
	text, err := migrations.ReadFile(name)
	if err != nil {
		return err
	}
	script := fmt.Sprintf("BEGIN IMMEDIATE;\n%s\nPRAGMA user_version = %d;\nPRAGMA application_id = %d;\nCOMMIT;", text, version, applicationID)
	if _, err := conn.ExecContext(ctx, script); err != nil {
		_, _ = conn.ExecContext(ctx, `ROLLBACK`)
		return err
	}
	return nil
}
