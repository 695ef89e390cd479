package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"

	"github.com/torc-slurm/torc-slurm/internal/malloc"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// openMemory creates a database in memory, with the content of the file if there is one.
// Only snapshots write to the file. There is one connection, as on a network file system:
// sharing memory between SQLite connections is worse than taking turns (docs/adr/0004).
func openMemory(ctx context.Context, o *Options, lock *fileLock) (*DB, error) {
	if o.Path != "" && !lock.works() {
		return nil, workflow.Errorf(workflow.CodeUnavailable, "the file system of %s has no locks: other programs could change the file meanwhile", o.Path).
			WithHint("choose another place, preferably on a local disk")
	}
	db, conn, err := openOne(ctx, ":memory:", dsn(":memory:", "memory", writerParams()))
	if err != nil {
		return nil, err
	}
	closeOn := func(err error) error { return errors.Join(err, conn.Close(), db.Close()) }
	if o.Path != "" {
		if err := load(ctx, conn, o, lock); err != nil {
			return nil, closeOn(err)
		}
	}
	epoch, err := prepare(ctx, conn, o, lock)
	if err != nil {
		return nil, closeOn(err)
	}
	w := newWriter(db, conn, epoch, nil, *o)
	read, err := w.share()
	if err != nil {
		w.stop()
		return nil, errors.Join(err, w.close())
	}
	return start(o, lock, read, w), nil
}

// load copies the content of a file into a database in memory. It merges the file's
// journal, which a snapshot in its place would otherwise inherit.
func load(ctx context.Context, to *sql.Conn, o *Options, lock *fileLock) error {
	if _, err := os.Stat(o.Path); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if network, err := networkOf(o.Path); err != nil {
		return err
	} else if network == "" {
		if err := inspectFile(ctx, o, lock); err != nil {
			return err
		}
	}
	db, from, err := openAlone(ctx, o.Path, url.Values{})
	if err != nil {
		return err
	}
	_, err = inspect(ctx, from, o.Path)
	if err == nil {
		err = copyPages(to, from)
	}
	if err != nil {
		err = fmt.Errorf("read database %s: %w", o.Path, explainDamage(ctx, from, err))
	}
	return errors.Join(err, from.Close(), db.Close())
}

// GiveBackMemory returns the memory of caches to the system. It is meant for idle times,
// since the next use cases refill the caches.
func (d *DB) GiveBackMemory(ctx context.Context) error {
	d.Read.SetMaxIdleConns(0) // closes idle connections
	d.Read.SetMaxIdleConns(readers)
	err := d.writer.shrink(ctx)
	malloc.Trim()
	return Wrap(err, "empty the cache of database %s", d.path)
}

// shrink empties the cache of the writer's connection, between transactions.
func (w *writer) shrink(ctx context.Context) error {
	w.turn.Lock()
	defer w.turn.Unlock()
	_, err := w.conn.ExecContext(ctx, `PRAGMA shrink_memory`)
	return err
}
