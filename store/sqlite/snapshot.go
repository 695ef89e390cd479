package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"github.com/mattn/go-sqlite3"

	"github.com/torc-slurm/torc-slurm/store/dbfile"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// Snapshot writes a copy of the database, as of one moment, to a file. A previous file
// becomes <to>.1, that one <to>.2, and so on, up to keep files. Use cases continue
// meanwhile if the database is on a local disk; otherwise they wait.
func (d *DB) Snapshot(ctx context.Context, to string, keep int) error {
	to, err := filepath.Abs(to)
	if err != nil {
		return fmt.Errorf("path of the snapshot: %w", err)
	}
	if err := checkPlace(to); err != nil {
		return err
	}
	d.snapshots.Lock()
	defer d.snapshots.Unlock()
	switch {
	case to != d.path:
		lock, err := takeLock(to, d.process)
		if err != nil {
			return err
		}
		defer lock.release() //nolint:errcheck // it ends with its file
	case !d.inMemory:
		return workflow.Errorf(workflow.CodeInvalid, "a snapshot cannot replace the database %s itself", to).
			WithHint("choose another path")
	}
	part := to + ".part"
	err = removeIfThere(part)
	if err == nil {
		dbfile.CreatePrivate(part)
		err = d.copyTo(ctx, part)
	}
	if err == nil {
		err = replace(part, to, keep)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write a snapshot to %s: %w", to, Fault(part, err)), removeIfThere(part))
	}
	return nil
}

// copyTo creates a file with a copy of the database without an owner.
func (d *DB) copyTo(ctx context.Context, path string) error {
	// A crash before the rename loses nothing but this file.
	return copyFree(ctx, path, url.Values{"_synchronous": {"OFF"}}, func(to *sql.Conn) error {
		if !d.writer.shared {
			return copyFile(ctx, to, d.path)
		}
		d.writer.turn.Lock()
		defer d.writer.turn.Unlock()
		return copyPages(to, d.writer.conn)
	})
}

// copyFree creates a file without owner and journal, which fill fills.
func copyFree(ctx context.Context, path string, params url.Values, fill func(to *sql.Conn) error) error {
	db, conn, err := openAlone(ctx, path, params)
	if err != nil {
		return err
	}
	defer db.Close()
	defer conn.Close()
	if err := fill(conn); err != nil {
		return err
	}
	// Without a journal, the file can be moved.
	for _, query := range []string{`PRAGMA journal_mode = DELETE`, `UPDATE owner SET pid = 0`} {
		if _, err := conn.ExecContext(ctx, query); err != nil {
			return err
		}
	}
	return errors.Join(conn.Close(), db.Close())
}

// copyFile copies a database that others may be using.
func copyFile(ctx context.Context, to *sql.Conn, path string) error {
	db, from, err := OpenReadOnly(ctx, path)
	if err != nil {
		return err
	}
	return errors.Join(copyPages(to, from), from.Close(), db.Close())
}

// copyPages copies one database to another, page by page in one step: changes wait
// meanwhile, or are not included.
func copyPages(to, from *sql.Conn) error {
	return to.Raw(func(to any) error {
		return from.Raw(func(from any) error {
			backup, err := to.(*sqlite3.SQLiteConn).Backup("main", from.(*sqlite3.SQLiteConn), "main")
			if err != nil {
				return err
			}
			_, err = backup.Step(-1)
			return errors.Join(err, backup.Finish())
		})
	})
}

// openAlone opens a file that no other program has open.
func openAlone(ctx context.Context, path string, params url.Values) (*sql.DB, *sql.Conn, error) {
	params.Set("_locking_mode", "EXCLUSIVE")
	return openOne(ctx, path, dsn(path, "rwc", params))
}

// replace renames a finished file durably. The previous file with this name gets another
// name.
func replace(part, to string, keep int) error {
	if err := syncPath(part); err != nil {
		return err
	}
	// The journal of the old file would be applied to the new one.
	if info, err := os.Stat(to + "-wal"); err == nil && info.Size() > 0 {
		return workflow.Errorf(workflow.CodeConflict, "%s is in use by another program: it has a journal", to).
			WithHint("close what has it open, for example a sqlite3 shell")
	}
	if err := rotate(to, keep); err != nil {
		return err
	}
	if err := os.Rename(part, to); err != nil {
		return err
	}
	return syncPath(filepath.Dir(to))
}

// rotate gives a file the additional name <path>.1, and moves its predecessors up by one.
func rotate(path string, keep int) error {
	if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	name := func(i int) string { return fmt.Sprintf("%s.%d", path, i) }
	for i := keep - 2; i > 0; i-- {
		if err := os.Rename(name(i), name(i+1)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	if keep < 2 {
		return nil
	}
	return errors.Join(removeIfThere(name(1)), os.Link(path, name(1)))
}
