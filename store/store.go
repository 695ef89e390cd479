// Package store is the job database: SQLite on a file, one writer with group
// commit, read-only readers. An exported method is one use case, all or
// nothing.
package store

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	_ "github.com/mattn/go-sqlite3" // the driver "sqlite3"
)

// Options says which database to open, and how. Only Path is needed.
type Options struct {
	Path string
	Now  func() time.Time // the clock; time.Now if nil
	Log  *slog.Logger     // slog.Default() if nil
	// OnCommit is called by the writer after each commit that changed
	// something, in commit order. It must not block and must not call the store.
	OnCommit func(Changes)
	// Failpoint is called at named points; for crash tests.
	Failpoint func(name string)
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
	// NotBefore is the earliest time at which a delayed job becomes
	// claimable, in ms; 0 if no job was delayed.
	NotBefore int64
}

// Store is an open job database.
type Store struct {
	path   string
	now    func() time.Time
	log    *slog.Logger
	read   *sql.DB
	writer *writer
}

const readers = 4

// Open opens or creates the database and brings its schema up to date. A
// database of a later release is refused unharmed.
func Open(ctx context.Context, o Options) (*Store, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.OnCommit == nil {
		o.OnCommit = func(Changes) {}
	}
	if o.Failpoint == nil {
		o.Failpoint = func(string) {}
	}
	wdb, err := sql.Open("sqlite3", dsn(o.Path, "rwc", url.Values{
		"_journal_mode": {"WAL"}, "_synchronous": {"FULL"}, "_txlock": {"immediate"},
		"_foreign_keys": {"on"}, "_cache_size": {"-16384"},
	}))
	if err != nil {
		return nil, fmt.Errorf("open database %s: %w", o.Path, err)
	}
	wdb.SetMaxOpenConns(1)
	conn, err := wdb.Conn(ctx)
	if err != nil {
		wdb.Close()
		return nil, fmt.Errorf("open database %s: %w", o.Path, err)
	}
	if err := migrate(ctx, conn, o.Path, o.Now()); err != nil {
		conn.Close()
		wdb.Close()
		return nil, err
	}
	rdb, err := sql.Open("sqlite3", dsn(o.Path, "ro", url.Values{
		"_query_only": {"true"}, "_cache_size": {"-4096"},
	}))
	if err != nil {
		conn.Close()
		wdb.Close()
		return nil, fmt.Errorf("open database %s for reading: %w", o.Path, err)
	}
	rdb.SetMaxOpenConns(readers)
	rdb.SetMaxIdleConns(readers)
	s := &Store{path: o.Path, now: o.Now, log: o.Log, read: rdb}
	s.writer = newWriter(wdb, conn, o)
	return s, nil
}

// Path returns the path of the database file.
func (s *Store) Path() string { return s.path }

// Close waits for the use cases that were accepted and closes the database.
func (s *Store) Close() error {
	err := s.writer.close()
	if e := s.read.Close(); err == nil {
		err = e
	}
	if err != nil {
		return fmt.Errorf("close database %s: %w", s.path, err)
	}
	return nil
}

// dsn builds the name under which go-sqlite3 opens path.
func dsn(path, mode string, extra url.Values) string {
	extra.Set("mode", mode)
	extra.Set("_busy_timeout", "10000")
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: extra.Encode()}
	return u.String()
}
