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

// scripts returns the migrations in their order.
func scripts() []string {
	names, err := fs.Glob(migrations, "migration/*.sql")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	texts := make([]string, len(names))
	for i, name := range names {
		text, err := migrations.ReadFile(name)
		if err != nil {
			panic(err) // it is part of the program
		}
		texts[i] = string(text)
	}
	return texts
}

// SchemaVersion is the version of the schema that this release writes: the
// number of its migrations.
func SchemaVersion() int { return len(scripts()) }

// migrate brings the schema from a version up to date, one transaction for each
// migration, after a backup beside the file if there is something to lose.
func migrate(ctx context.Context, conn *sql.Conn, path string, version int, scripts []string, now time.Time) error {
	if version == len(scripts) {
		return nil
	}
	if version > 0 {
		backup := fmt.Sprintf("%s.v%d-%s.bak", path, version, now.UTC().Format("20060102T150405Z"))
		if err := vacuumInto(ctx, conn, backup); err != nil {
			return fmt.Errorf("back up %s before its migration: %w", path, err)
		}
	}
	for i, text := range scripts[version:] {
		if err := apply(ctx, conn, text, version+i+1); err != nil {
			return fmt.Errorf("migrate %s to schema version %d: %w", path, version+i+1, err)
		}
	}
	return nil
}

// apply runs one migration, all or nothing.
func apply(ctx context.Context, conn *sql.Conn, text string, version int) error {
	script := fmt.Sprintf("BEGIN IMMEDIATE;\n%s\nPRAGMA user_version = %d;\nPRAGMA application_id = %d;\nCOMMIT;", text, version, applicationID)
	if _, err := conn.ExecContext(ctx, script); err != nil {
		_, _ = conn.ExecContext(ctx, `ROLLBACK`)
		return err
	}
	return nil
}
