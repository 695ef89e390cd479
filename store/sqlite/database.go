package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	_ "github.com/mattn/go-sqlite3" // the driver "sqlite3"
)

// Options says which database to open, and how. Only Path is needed.
type Options struct {
	Path string
	// InMemory keeps the database in memory. It begins with what the file Path
	// has, and others must not use that file meanwhile, but only Snapshot writes
	// to it. Without a Path it begins empty.
	InMemory bool

	Now func() time.Time // the clock; time.Now if nil
	Log *slog.Logger     // slog.Default() if nil
	// Failpoint is called at named points; for crash tests.
	Failpoint func(name string)
	// Beat is how often the owner shows that it lives; ten seconds if 0.
	Beat time.Duration
	// AsNetwork treats the file as one on a network file system, wherever it is.
	AsNetwork bool

	// Translate returns the statement that SQLite gets for one in the code; as
	// it is if nil.
	Translate func(query string) string
	// Prepared is called with each statement of use cases at its first use; for tests
	// of what SQLite makes of them.
	Prepared func(query string)
	// OnCommit is called by the writer after each commit with what its use cases
	// have announced, in commit order, unless that is nothing. It must not block
	// and must not use the database.
	OnCommit func(announced []any)
	// Forget is called by the writer's goroutine when changes are undone: what use
	// cases have cached of the database may be from them.
	Forget func()

	process process // who opens it; found out if empty
}

// DB is an open database that this process owns: one writer with group
// commit, and read-only readers beside it.
type DB struct {
	path     string // empty in memory without a file
	inMemory bool
	process  process
	now      func() time.Time
	log      *slog.Logger
	Read     *sql.DB // of readers, which see what was committed
	writer   *writer
	lock     *fileLock

	snapshots sync.Mutex // held by who writes a snapshot

	beatInterval time.Duration
	stopBeat     context.CancelFunc
	beats        sync.WaitGroup
}

// Do runs a use case and returns after its commit. fn may run twice; only the
// effects of one run remain, so it must set its results afresh. A use case must
// not start another one.
func (d *DB) Do(name string, fn func(*Tx) error) error { return d.writer.do(name, fn) }

// BeginRead begins a read of several statements that see the database as it is at
// one moment. It must be rolled back.
func (d *DB) BeginRead(ctx context.Context) (*sql.Tx, error) {
	tx, err := d.Read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, fmt.Errorf("begin to read %s: %w", d.path, err)
	}
	return tx, nil
}

// Now is the time of the database's clock.
func (d *DB) Now() time.Time { return d.now() }

// Log is where the database's messages go.
func (d *DB) Log() *slog.Logger { return d.log }

// Epoch numbers the times that somebody became the owner of the database.
func (d *DB) Epoch() int64 { return d.writer.epoch }

// Commits returns how many shared transactions were committed since the start,
// and how many use cases were in them.
func (d *DB) Commits() (commits, useCases int64) {
	return d.writer.commits.Load(), d.writer.useCases.Load()
}

// Path returns the absolute path of the database file; empty if it has none.
func (d *DB) Path() string { return d.path }

// Close waits for the use cases that were accepted and for reads that have
// begun, closes the database and gives it back to whoever wants it next.
func (d *DB) Close() error {
	d.stopBeat()
	d.beats.Wait()
	err := d.release()
	if errors.Is(err, errClosed) {
		return nil
	}
	d.writer.stop()
	// The connection that is closed last writes the journal back into the
	// file, which readers cannot.
	err = errors.Join(err, d.Read.Close(), d.writer.close(), d.lock.release())
	if err != nil {
		return fmt.Errorf("close database %s: %w", d.path, err)
	}
	return nil
}
