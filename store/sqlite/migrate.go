package sqlite

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/mattn/go-sqlite3"

	"github.com/torc-slurm/torc-slurm/workflow"
)

//go:embed migration/*.sql
var migrations embed.FS

// applicationID marks our database files ("TORC" in ASCII).
const applicationID = 0x544f5243

// scripts returns the migrations in order.
func scripts() []string {
	names, err := fs.Glob(migrations, "migration/*.sql")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	texts := make([]string, len(names))
	for i, name := range names {
		text, err := migrations.ReadFile(name)
		if err != nil {
			panic(err) // the files are embedded
		}
		texts[i] = string(text)
	}
	return texts
}

// SchemaVersion returns the version of the schema of this release: the number of its
// migrations.
func SchemaVersion() int { return len(scripts()) }

// migrate migrates the schema from a version to the latest, one transaction per migration,
// after a backup beside the file if it has data.
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

// scriptHash distinguishes migrations with the same number, such as those of versions
// between releases.
func scriptHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// sameHistory rejects a database that other migrations with the same numbers created.
func sameHistory(ctx context.Context, q rowQuerier, path string, version int) error {
	for i, text := range scripts()[:version] {
		var hash string
		err := q.QueryRowContext(ctx, `SELECT hash FROM migration WHERE version = ?`, i+1).Scan(&hash)
		var sqliteErr sqlite3.Error
		isOther := errors.Is(err, sql.ErrNoRows) || errors.As(err, &sqliteErr) && sqliteErr.Code == sqlite3.ErrError // no such table
		switch {
		case isOther, err == nil && hash != scriptHash(text):
			return workflow.Errorf(workflow.CodeUnsupported, "database %s was created by a version of torc-slurm between two releases, with other tables", path).
				WithHint("use that version, or move the file away and start with a new one; nothing was changed")
		case err != nil:
			return fmt.Errorf("read the migrations of %s: %w", path, err)
		}
	}
	return nil
}

// apply runs one migration in a transaction.
func apply(ctx context.Context, conn *sql.Conn, text string, version int) error {
	script := fmt.Sprintf("BEGIN IMMEDIATE;\n%s\nINSERT INTO migration VALUES (%d, '%s');\nPRAGMA user_version = %d;\nPRAGMA application_id = %d;\nCOMMIT;",
		text, version, scriptHash(text), version, applicationID)
	if _, err := conn.ExecContext(ctx, script); err != nil {
		_, _ = conn.ExecContext(ctx, `ROLLBACK`)
		return err
	}
	return nil
}

// MakeSchema creates the tables of the current schema in an empty database.
func MakeSchema(ctx context.Context, conn *sql.Conn) error {
	for i, text := range scripts() {
		if err := apply(ctx, conn, text, i+1); err != nil {
			return err
		}
	}
	return nil
}
