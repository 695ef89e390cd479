package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"sync"
	"time"

	_ "github.com/mattn/go-sqlite3" // the driver "sqlite3"
)

// Options configure a DB. Only Path is required.
type Options struct {
	Path string
	// InMemory keeps the database in memory. It starts with the content of the file Path,
	// empty without a Path. Only Snapshot writes to that file; others must not use it.
	InMemory bool

	Now func() time.Time // the clock; time.Now if nil
	Log *slog.Logger     // slog.Default() if nil
	// Failpoint is called at named points; for crash tests.
	Failpoint func(name string)
	// Beat is the interval of the owner's heartbeat; ten seconds if 0.
	Beat time.Duration
	// AsNetwork treats the file as one on a network file system, wherever it is.
	AsNetwork bool

	// Translate returns the SQL for a statement in the code; unchanged if nil.
	Translate func(query string) string
	// Prepared is called with each statement of use cases at its first use; for tests.
	Prepared func(query string)
	// OnCommit is called by the writer after each commit with what its use cases announced,
	// in commit order, unless that is nothing. It must not block or use the database.
	OnCommit func(announced []any)
	// Forget is called by the writer's goroutine when changes are rolled back, since caches
	// of use cases may contain them.
	Forget func()

	process process // the process that opens it; determined if empty
}

// DB is an open database that this process owns, with one writer with group commit, and
// read-only readers.
type DB struct {
	path     string // empty in memory without a file
	inMemory bool
	process  process
	now      func() time.Time
	log      *slog.Logger
	Read     *sql.DB // readers; they see committed data
	writer   *writer
	lock     *fileLock

	snapshots sync.Mutex // held while a snapshot is written

	beatInterval time.Duration
	stopBeat     context.CancelFunc
	beats        sync.WaitGroup
}

// Do runs a use case and returns after its commit. fn may run twice, and only the effects
// of one run remain, so it must reset its results. A use case must not start another one.
func (d *DB) Do(name string, fn func(*Tx) error) error { return d.writer.do(name, fn) }

// BeginRead starts a read of several statements in one snapshot. The caller must roll it
// back.
func (d *DB) BeginRead(ctx context.Context) (*sql.Tx, error) {
	tx, err := d.Read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	return tx, Wrap(err, "begin to read %s", d.path)
}

// Now returns the time of the database's clock.
func (d *DB) Now() time.Time { return d.now() }

// Log returns the logger of the database.
func (d *DB) Log() *slog.Logger { return d.log }

// Epoch returns how often the database has changed its owner.
func (d *DB) Epoch() int64 { return d.writer.epoch }

// Commits returns how many shared transactions were committed since the start, and how many
// use cases they contained.
func (d *DB) Commits() (commits, useCases int64) {
	return d.writer.commits.Load(), d.writer.useCases.Load()
}

// Path returns the absolute path of the database file; empty if it has none.
func (d *DB) Path() string { return d.path }

// Close waits for accepted use cases and reads, closes the database, and gives up its
// ownership.
func (d *DB) Close() error {
	d.stopBeat()
	d.beats.Wait()
	err := d.release()
	if errors.Is(err, errClosed) {
		return nil
	}
	d.writer.stop()
	// The last connection to close merges the journal into the file, which readers cannot
	// do.
	err = errors.Join(err, d.Read.Close(), d.writer.close(), d.lock.release())
	return Wrap(err, "close database %s", d.path)
}
