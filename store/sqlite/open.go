package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/torc-slurm/torc-slurm/store/dbfile"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// readers limits the concurrent reads.
const readers = 4

// Open opens or creates the database, makes this process its owner, and migrates its
// schema. A database that is in use, damaged, of a later release, or of another program is
// rejected and not changed.
func Open(ctx context.Context, o Options) (*DB, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	if o.Path == "" {
		return openMemory(ctx, &o, &fileLock{})
	}
	err := checkPlace(o.Path)
	if err != nil {
		return nil, err
	}
	if o.Path, err = dbfile.Resolve(o.Path); err != nil {
		return nil, err
	}
	if err := checkPlace(o.Path); err != nil {
		return nil, err
	}
	if err := dbfile.TrustPlace(o.Path); err != nil {
		return nil, err
	}
	lock, err := takeLock(o.Path, o.process)
	if err != nil {
		return nil, err
	}
	open := openLocked
	if o.InMemory {
		open = openMemory
	}
	var s *DB
	if err = errors.Join(dbfile.RefuseHardLinks(o.Path), refuseRescued(o.Path)); err == nil {
		s, err = open(ctx, &o, lock)
	}
	if err != nil {
		return nil, errors.Join(Fault(o.Path, err), lock.release())
	}
	return s, nil
}

// complete sets the defaults.
func (o *Options) complete() (err error) {
	switch {
	case o.Path != "":
		if o.Path, err = filepath.Abs(o.Path); err != nil {
			return fmt.Errorf("path of the database: %w", err)
		}
	case !o.InMemory:
		return workflow.Errorf(workflow.CodeInvalid, "no database path is given")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.OnCommit == nil {
		o.OnCommit = func([]any) {}
	}
	if o.Beat == 0 {
		o.Beat = beatInterval
	}
	if o.Forget == nil {
		o.Forget = func() {}
	}
	if o.Prepared == nil {
		o.Prepared = func(string) {}
	}
	if o.Translate == nil {
		o.Translate = func(query string) string { return query }
	}
	if o.Failpoint == nil {
		o.Failpoint = func(string) {}
	}
	if o.process == (process{}) {
		o.process, err = thisProcess()
	}
	return err
}

// checkPlace rejects paths where no database can be.
func checkPlace(path string) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		what := "not a file"
		if info.IsDir() {
			what = "a directory"
		}
		return workflow.Errorf(workflow.CodeInvalid, "%s is %s, not a database", path, what).
			WithHint("give the path of a file in it, for example %s", filepath.Join(path, "torc.db"))
	}
	dir := filepath.Dir(path)
	switch info, err := os.Stat(dir); {
	case errors.Is(err, os.ErrNotExist):
		return workflow.Errorf(workflow.CodeInvalid, "the folder of database %s does not exist", path).
			WithHint("create it: mkdir -p %s", dir)
	case err != nil:
		return workflow.Errorf(workflow.CodeUnavailable, "cannot read the folder of database %s: %v", path, err)
	case !info.IsDir():
		return workflow.Errorf(workflow.CodeInvalid, "database %s cannot be in %s, which is not a folder", path, dir)
	}
	return nil
}

// openLocked opens the database; this process has its lock, unless locks do not work.
func openLocked(ctx context.Context, o *Options, lock *fileLock) (*DB, error) {
	network, err := networkOf(o.Path)
	if err != nil {
		return nil, err
	}
	shared := o.AsNetwork || network != ""
	if shared {
		o.Log.Warn("the database is on a network file system: only one program can open it, and it is slower; prefer a local disk",
			"path", o.Path, "file_system", network)
	} else if err := inspectFile(ctx, o, lock); err != nil {
		return nil, err
	}
	dbfile.CreatePrivate(o.Path)
	wdb, conn, err := openWriter(ctx, o, shared, lock)
	if err != nil {
		return nil, err
	}
	epoch, err := prepare(ctx, conn, o, lock)
	if err != nil {
		return nil, errors.Join(explainDamage(ctx, conn, err), conn.Close(), wdb.Close())
	}
	dbfile.CloseToOthers(o.Path, o.Log) // not earlier: a rejected database is not changed
	files, err := dbfile.Watch(o.Path)
	if err != nil {
		return nil, errors.Join(err, conn.Close(), wdb.Close())
	}
	w := newWriter(wdb, conn, epoch, files, *o)
	rdb, err := openReaders(o.Path, w, shared)
	if err != nil {
		w.stop()
		return nil, errors.Join(err, w.close())
	}
	return start(o, lock, rdb, w), nil
}

// start returns the DB and starts the owner's heartbeat.
func start(o *Options, lock *fileLock, read *sql.DB, w *writer) *DB {
	d := &DB{path: o.Path, inMemory: o.InMemory, process: o.process, now: o.Now, log: o.Log, Read: read, writer: w, lock: lock, beatInterval: o.Beat}
	beating, stop := context.WithCancel(context.Background())
	d.stopBeat = stop
	d.beats.Go(func() { d.beat(beating) })
	return d
}

// openWriter opens the writer's connection, without touching the file.
//
// On a network file system the connection is exclusive. SQLite then keeps the index of the
// journal in its own memory. Such file systems do not support an index shared between
// processes.
func openWriter(ctx context.Context, o *Options, shared bool, lock *fileLock) (*sql.DB, *sql.Conn, error) {
	params := writerParams()
	if shared {
		params.Set("_locking_mode", "EXCLUSIVE")
		if !lock.works() {
			params.Set("vfs", "unix-none") // SQLite's locks would not work either; the owner row replaces them
		}
	}
	return openOne(ctx, o.Path, dsn(o.Path, "rwc", params))
}

// writerParams returns the parameters of the writer's connection.
func writerParams() url.Values {
	return url.Values{"_synchronous": {"FULL"}, "_txlock": {"immediate"}, "_foreign_keys": {"on"}, "_cache_size": {"-16384"}}
}

// openOne opens one connection.
func openOne(ctx context.Context, path, dsn string) (*sql.DB, *sql.Conn, error) {
	db, err := sql.Open("sqlite3", dsn)
	if err != nil {
		return nil, nil, fmt.Errorf("open database %s: %w", path, err)
	}
	db.SetMaxOpenConns(1)
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("open database %s: %w", path, err), db.Close())
	}
	return db, conn, nil
}

// journalLimit is the size in bytes to which the journal is truncated after a large change.
const journalLimit = 64 << 20

// prepare takes ownership, migrates the schema, and returns the epoch.
func prepare(ctx context.Context, conn *sql.Conn, o *Options, lock *fileLock) (epoch int64, err error) {
	version, err := inspect(ctx, conn, o.Path)
	if err != nil {
		return 0, err
	}
	if version > 0 {
		if _, err := refuseOwned(ctx, conn, o, lock.works()); err != nil {
			return 0, err
		}
	}
	if !o.InMemory {
		if err := setJournal(ctx, conn, o.Path); err != nil {
			return 0, err
		}
	}
	// A use case is a savepoint. Its undo data would otherwise go through a temporary file.
	if _, err := conn.ExecContext(ctx, `PRAGMA temp_store = MEMORY`); err != nil {
		return 0, fmt.Errorf("keep savepoints of %s in memory: %w", o.Path, err)
	}
	if err := migrate(ctx, conn, o.Path, version, scripts(), o.Now()); err != nil {
		return 0, err
	}
	return takeOwnership(ctx, conn, o, lock.works())
}

// setJournal switches a database file to the write-ahead journal.
func setJournal(ctx context.Context, conn *sql.Conn, path string) error {
	var mode string
	if err := conn.QueryRowContext(ctx, `PRAGMA journal_mode = WAL`).Scan(&mode); err != nil {
		return fmt.Errorf("set the journal of %s: %w", path, err)
	}
	if mode != "wal" {
		return workflow.Errorf(workflow.CodeUnavailable, "database %s cannot have a write-ahead journal, only %s", path, mode).
			WithHint("put it on another file system")
	}
	_, err := conn.ExecContext(ctx, fmt.Sprintf(`PRAGMA journal_size_limit = %d`, journalLimit))
	return Wrap(err, "limit the journal of %s", path)
}

// openReaders opens the connections of readers.
func openReaders(path string, w *writer, shared bool) (*sql.DB, error) {
	if shared {
		return w.share()
	}
	db := sql.OpenDB(readConnector{
		name:      dsn(path, "ro", url.Values{"_query_only": {"true"}, "_cache_size": {"-4096"}}),
		translate: w.translate,
		noticed:   func(err error) { _ = w.noticed(err) }, // the reader gets its own error
	})
	db.SetMaxOpenConns(readers)
	db.SetMaxIdleConns(readers)
	return db, nil
}

// dsn returns the name under which go-sqlite3 opens path.
func dsn(path, mode string, extra url.Values) string {
	extra.Set("mode", mode)
	if !extra.Has("_busy_timeout") {
		extra.Set("_busy_timeout", "10000")
	}
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: extra.Encode()}
	return u.String()
}

// explainDamage adds details to an error that says that the database is damaged.
func explainDamage(ctx context.Context, conn *sql.Conn, err error) error {
	if !isCorrupt(err) {
		return err
	}
	rows, e := conn.QueryContext(ctx, `PRAGMA quick_check(5)`)
	if e != nil {
		return err // too damaged to check
	}
	lines, e := Collect(rows, ScanString)
	if e != nil || len(lines) == 0 {
		return err
	}
	return fmt.Errorf("%w: %s", err, strings.Join(lines, "; "))
}
