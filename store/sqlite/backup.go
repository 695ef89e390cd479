package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
	"github.com/mattn/go-sqlite3"

	"github.com/torc-slurm/torc-slurm/store/dbfile"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// Backup writes a copy of the database, as of one moment, to a new file. Use cases continue
// meanwhile if the database is on a local disk.
func (d *DB) Backup(ctx context.Context, to string) error {
	if !d.writer.shared {
		return Backup(ctx, d.path, to)
	}
	d.writer.turn.Lock()
	defer d.writer.turn.Unlock()
	return backup(ctx, d.writer.conn, d.path, to)
}

// Backup writes a copy of a database, which another process may use, to a new file.
func Backup(ctx context.Context, path, to string) error {
	db, conn, err := OpenReadOnly(ctx, path)
	if err != nil {
		return err
	}
	defer db.Close()
	defer conn.Close()
	return backup(ctx, conn, path, to)
}

// OpenReadOnly opens one of our databases for reading, whoever owns it.
func OpenReadOnly(ctx context.Context, path string) (*sql.DB, *sql.Conn, error) {
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return nil, nil, workflow.Errorf(workflow.CodeNotFound, "database %s does not exist", path)
	}
	path, err := dbfile.Resolve(path)
	if err != nil {
		return nil, nil, err
	}
	if err := checkPlace(path); err != nil {
		return nil, nil, err
	}
	db, conn, err := openInspected(ctx, path)
	var e sqlite3.Error
	if errors.As(err, &e) && e.Code == sqlite3.ErrBusy {
		err = cmp.Or(heldAlone(path), err)
	}
	return db, conn, Fault(path, err)
}

// openInspected opens a database if it has our tables.
func openInspected(ctx context.Context, path string) (*sql.DB, *sql.Conn, error) {
	// A reader waits longer only if somebody locks the whole file.
	db, conn, err := openOne(ctx, path, dsn(path, "ro", url.Values{"_busy_timeout": {"2000"}}))
	if err != nil {
		return nil, nil, err
	}
	version, err := inspect(ctx, conn, path)
	if err == nil && version == 0 {
		err = workflow.Errorf(workflow.CodeInvalid, "database %s is empty", path)
	}
	if err != nil {
		return nil, nil, errors.Join(explainDamage(ctx, conn, err), conn.Close(), db.Close())
	}
	return db, conn, nil
}

// heldAlone returns an error that names the daemon with exclusive access to a database that
// cannot be read; nil if that is not the reason.
func heldAlone(path string) error {
	name := path + ".lock"
	file := flock.New(name, flock.SetFlag(os.O_RDONLY))
	defer file.Close() //nolint:errcheck // nothing was written
	if free, err := file.TryRLock(); free || err != nil {
		return nil //nolint:nilerr // nobody can be named
	}
	err := lockRefusal(path, name)
	var refusal *workflow.Error
	if errors.As(err, &refusal) {
		return refusal.WithHint("on a network file system only one program can open the file; stop that one first")
	}
	return err
}

// backup writes the copy to a temporary file, and renames it when it is complete and on
// disk.
func backup(ctx context.Context, conn *sql.Conn, path, to string) error {
	if _, err := os.Lstat(to); err == nil {
		return workflow.Errorf(workflow.CodeConflict, "%s already exists", to).WithHint("choose another name, or remove that file")
	}
	part := to + ".part"
	if err := os.Remove(part); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("back up %s: %w", path, err)
	}
	err := vacuumInto(ctx, conn, part)
	if err == nil {
		err = publish(part, to)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("back up %s: %w", path, Fault(part, err)), removeIfThere(part))
	}
	return nil
}

// vacuumInto writes a compact copy of the database, readable only by its owner, to a new or
// empty file.
func vacuumInto(ctx context.Context, conn *sql.Conn, to string) error {
	dbfile.CreatePrivate(to)
	_, err := conn.ExecContext(ctx, `VACUUM INTO ?`, to)
	return err
}

// publish renames a finished file durably; the name must be free.
func publish(part, to string) error {
	if err := syncPath(part); err != nil {
		return err
	}
	if err := os.Link(part, to); err != nil {
		return err
	}
	if err := os.Remove(part); err != nil {
		return err
	}
	return syncPath(filepath.Dir(to))
}

// syncPath syncs a file or a folder to disk.
func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
