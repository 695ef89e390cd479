// Package store is the job database: SQLite on a file, one writer with group commit,
// read-only readers. An exported method is one use case: it does everything or nothing.
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

// Options configure a Store. Only Path is required.
type Options struct {
	Path string
	// InMemory keeps the database in memory. It starts with the content of the file Path,
	// empty without a Path. Only Snapshot writes to that file; others must not use it.
	InMemory bool

	Now func() time.Time // the clock; time.Now if nil
	Log *slog.Logger     // slog.Default() if nil
	// Beat is the interval of the owner's heartbeat; ten seconds if 0. A heartbeat reads
	// the clock in a goroutine of its own.
	Beat time.Duration
	// OnCommit is called by the writer after each commit that changed
	// something, in commit order. It must not block and must not call the store.
	OnCommit func(core.Changes)
	// Failpoint is called at named points; for crash tests.
	Failpoint func(name string)
	// Notify is the default for workflows that do not say who receives alerts.
	Notify *workflow.NotifyPolicy
	// HoldLimit returns the default limit of holds. It must not call the store.
	HoldLimit func() workflow.HoldLimitSource
	// AsNetwork treats the file as one on a network file system, wherever it is.
	AsNetwork bool

	tune func(*sqlite.Options) // for tests of this package
}

// Store is an open job database, which this process owns. Its use cases are methods of
// nouns.
type Store struct {
	record.Records
	fleet.Fleet

	ClaimHolds  ClaimHolds
	Classifiers Classifiers
	Holds       Holds
	Jobs        Jobs
	Proposals   Proposals
	Scheduling  Scheduling
	Timeouts    Timeouts
	Workflows   Workflows

	db     *sqlite.DB
	shared *core.Shared
}

// Open opens or creates the database, makes this process its owner, and migrates its
// schema. A database that is in use, damaged, of a later release, or of another program is
// rejected and not changed.
func Open(ctx context.Context, o Options) (*Store, error) {
	e := core.NewShared(core.Settings{Log: o.Log, OnCommit: o.OnCommit, Notify: o.Notify, HoldLimit: o.HoldLimit})
	options := sqlite.Options{
		Path: o.Path, InMemory: o.InMemory, Now: o.Now, Log: o.Log, Beat: o.Beat, Failpoint: o.Failpoint, AsNetwork: o.AsNetwork,
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

// Commits returns how many shared transactions were committed since the start, and how many
// use cases they contained.
func (s *Store) Commits() (commits, useCases int64) { return s.db.Commits() }

// Path returns the absolute path of the database file; empty if it has none.
func (s *Store) Path() string { return s.db.Path() }

// Close waits for accepted use cases and reads, closes the database, and gives up its
// ownership.
func (s *Store) Close() error { return s.db.Close() }

// Lost is closed when the database must not be written any more: it has another owner, its
// file is gone, or it is damaged. From then on every change fails with Err.
func (s *Store) Lost() <-chan struct{} { return s.db.Lost() }

// Err returns why the database must not be written any more; nil if it may.
func (s *Store) Err() error { return s.db.Err() }

// GiveBackMemory returns the memory of caches to the system. It is meant for idle times,
// since the next use cases refill the caches.
func (s *Store) GiveBackMemory(ctx context.Context) error { return s.db.GiveBackMemory(ctx) }

// Snapshot writes a copy of the database, as of one moment, to a file. A previous file
// becomes <to>.1, that one <to>.2, and so on, up to keep files. Use cases continue
// meanwhile if the database is on a local disk; otherwise they wait.
func (s *Store) Snapshot(ctx context.Context, to string, keep int) error {
	return s.db.Snapshot(ctx, to, keep)
}

// Backup writes a copy of the database, as of one moment, to a new file. Use cases continue
// meanwhile if the database is on a local disk.
func (s *Store) Backup(ctx context.Context, to string) error { return s.db.Backup(ctx, to) }

// Backup writes a copy of a database, which another process may use, to a new file.
func Backup(ctx context.Context, path, to string) error { return sqlite.Backup(ctx, path, to) }

// OfTorc reports whether a file is a database of torc, which Open rejects. It returns false
// for an unreadable file; Open says why.
func OfTorc(ctx context.Context, path string) bool { return sqlite.OfTorc(ctx, path) }

// Page is a part of a list, and its order.
type Page = sqlite.Page
