// Package store is the job database: SQLite on a file, one writer with group
// commit, read-only readers. An exported method is one use case, all or
// nothing.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/torc-slurm/torc-slurm/workflow"

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
	// OnCommit is called by the writer after each commit that changed
	// something, in commit order. It must not block and must not call the store.
	OnCommit func(Changes)
	// Failpoint is called at named points; for crash tests.
	Failpoint func(name string)
	// Notify says who is told of alerts of workflows that do not say it.
	Notify *workflow.NotifyPolicy
	// Unplaced says why no allocation that may be asked for could take a job of a
	// class; empty if one could, or nobody knows. It must not call the store.
	Unplaced func(workflowID int64, c workflow.Class) string
	// HoldLimit is how long jobs are held where neither a rule nor their workflow
	// says it. It must not call the store.
	HoldLimit func() workflow.HoldLimitSource
	// Elsewhere reports whether allocations without a node are asked for, for jobs
	// of a class that avoid it. It must not call the store.
	Elsewhere func(workflowID int64, c workflow.Class, node string) bool
	// AsNetwork treats the file as one on a network file system, wherever it is.
	AsNetwork bool

	process process // who opens it; found out if empty
}

// Changes is what a commit made visible to others.
type Changes struct {
	// Ready lists workflows in which jobs became ready to be claimed.
	Ready []int64
	// Events is the last event seq of each workflow that got events.
	Events map[int64]int64
	// Ended lists workflows whose run has ended or was canceled.
	Ended []int64
	// Runners lists runners whose leases or orders changed.
	Runners []int64
	// Cancels says that allocations are to be canceled.
	Cancels bool
	// Allocations says that some were asked for, began or ended.
	Allocations bool
	// NotBefore is the earliest time at which a delayed job becomes
	// claimable, in ms; 0 if no job was delayed.
	NotBefore int64
	// Notifications says that messages are to be sent.
	Notifications bool
}

// Store is an open job database. This process owns it.
type Store struct {
	path     string // empty in memory without a file
	inMemory bool
	process  process
	now      func() time.Time
	log      *slog.Logger
	read     *sql.DB
	writer   *writer
	lock     *fileLock

	fairness  fairness   // of the writer's goroutine
	snapshots sync.Mutex // held by who writes a snapshot

	stopBeat context.CancelFunc
	beats    sync.WaitGroup
}

// Commits returns how many shared transactions were committed since the start,
// and how many use cases were in them.
func (s *Store) Commits() (commits, useCases int64) {
	return s.writer.commits.Load(), s.writer.useCases.Load()
}

// Path returns the absolute path of the database file; empty if it has none.
func (s *Store) Path() string { return s.path }

// Close waits for the use cases that were accepted and for reads that have
// begun, closes the database and gives it back to whoever wants it next.
func (s *Store) Close() error {
	s.stopBeat()
	s.beats.Wait()
	err := s.release()
	if errors.Is(err, errClosed) {
		return nil
	}
	s.writer.stop()
	// The connection that is closed last writes the journal back into the
	// file, which readers cannot.
	err = errors.Join(err, s.read.Close(), s.writer.close(), s.lock.release())
	if err != nil {
		return fmt.Errorf("close database %s: %w", s.path, err)
	}
	return nil
}
