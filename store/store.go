// Package store is the job database: SQLite on a file, one writer with group
// commit, read-only readers. An exported method is one use case, all or
// nothing.
package store

import (
	"context"
	"log/slog"
	"time"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/fleet"
	"github.com/torc-slurm/torc-slurm/store/record"
	"github.com/torc-slurm/torc-slurm/store/row"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
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
	// OnCommit is called by the writer after each commit that changed
	// something, in commit order. It must not block and must not call the store.
	OnCommit func(core.Changes)
	// Failpoint is called at named points; for crash tests.
	Failpoint func(name string)
	// Notify says who is told of alerts of workflows that do not say it.
	Notify *workflow.NotifyPolicy
	// HoldLimit is how long jobs are held where neither a rule nor their workflow
	// says it. It must not call the store.
	HoldLimit func() workflow.HoldLimitSource
	// AsNetwork treats the file as one on a network file system, wherever it is.
	AsNetwork bool

	tune func(*sqlite.Options) // for tests of this package
}

// Store is an open job database. This process owns it. Its use cases are methods
// of the nouns that they are about.
type Store struct {
	record.Records
	fleet.Fleet

	ClaimHolds ClaimHolds
	Holds      Holds
	Jobs       Jobs
	Scheduling Scheduling
	Timeouts   Timeouts
	Workflows  Workflows

	db     *sqlite.DB
	shared *core.Shared
}

// Open opens or creates the database, makes this process its owner and brings
// its schema up to date. A database that is in use, of a later release, damaged
// or of another program is rejected, and then not a byte of it has changed.
func Open(ctx context.Context, o Options) (*Store, error) {
	e := core.NewShared(core.Settings{Log: o.Log, OnCommit: o.OnCommit, Notify: o.Notify, HoldLimit: o.HoldLimit})
	options := sqlite.Options{
		Path: o.Path, InMemory: o.InMemory, Now: o.Now, Log: o.Log, Failpoint: o.Failpoint, AsNetwork: o.AsNetwork,
		Translate: row.WithStatuses, OnCommit: e.Committed, Forget: e.Forget,
	}
	if o.tune != nil {
		o.tune(&options)
	}
	db, err := sqlite.Open(ctx, options)
	if err != nil {
		return nil, err
	}
	e.DB = db
	return newStore(db, e), nil
}

// Commits returns how many shared transactions were committed since the start,
// and how many use cases were in them.
func (s *Store) Commits() (commits, useCases int64) { return s.db.Commits() }

// Path returns the absolute path of the database file; empty if it has none.
func (s *Store) Path() string { return s.db.Path() }

// Close waits for the use cases that were accepted and for reads that have
// begun, closes the database and gives it back to whoever wants it next.
func (s *Store) Close() error { return s.db.Close() }

// Lost is closed when the database must not be written any more: another process
// has taken it over, its file is gone, or it is damaged. From then on every change
// fails with Err.
func (s *Store) Lost() <-chan struct{} { return s.db.Lost() }

// Err says why the database must not be written any more; nil if it may.
func (s *Store) Err() error { return s.db.Err() }

// GiveBackMemory gives the memory of caches back to the system. It is for times
// in which nobody needs the database: the next use cases fill the caches anew.
func (s *Store) GiveBackMemory(ctx context.Context) error { return s.db.GiveBackMemory(ctx) }

// Snapshot writes a copy of the database, as it is at one moment, to a file and
// replaces what is there: that becomes <to>.1, that one <to>.2, and so on, until
// there are keep files. Use cases go on meanwhile if the database is a file on a
// local disk; otherwise they wait while the pages are copied.
func (s *Store) Snapshot(ctx context.Context, to string, keep int) error {
	return s.db.Snapshot(ctx, to, keep)
}

// Backup writes a copy of the database, as it is at one moment, to a file that
// does not exist yet. Use cases go on meanwhile, save on a network file system
// and in memory.
func (s *Store) Backup(ctx context.Context, to string) error { return s.db.Backup(ctx, to) }

// Backup writes a copy of a database, which another process may own and use,
// to a file that does not exist yet.
func Backup(ctx context.Context, path, to string) error { return sqlite.Backup(ctx, path, to) }

// OfTorc reports whether a file is a database of torc, which Open cannot use.
// It changes nothing. A file that cannot be read is none; Open says why.
func OfTorc(ctx context.Context, path string) bool { return sqlite.OfTorc(ctx, path) }

// SchemaVersion is the version of the schema that this program makes.
func SchemaVersion() int { return sqlite.SchemaVersion() }

// Page says which part of a list is wanted, in which order.
type Page = sqlite.Page
