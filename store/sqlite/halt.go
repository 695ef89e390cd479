package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/mattn/go-sqlite3"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// halt is the state of a database that must not be written any more, for good:
// what was written after its file has gone or is damaged would be lost, or damage
// more.
type halt struct {
	once sync.Once
	lost chan struct{} // closed when it has halted
	err  error         // why; written before lost is closed
}

// stop stops all writing, unless it has stopped already, and returns why.
func (h *halt) stop(err error) error {
	h.once.Do(func() {
		h.err = err
		close(h.lost)
	})
	return h.err
}

// reason is why nothing may be written any more; nil if it may.
func (h *halt) reason() error {
	select {
	case <-h.lost:
		return h.err
	default:
		return nil
	}
}

// noticed stops all writing if err says that the file is damaged, and returns the
// error that says it. Any goroutine may call it. It returns nil for other errors.
func (w *writer) noticed(err error) error {
	if !damaging(err) {
		return nil
	}
	if w.halt.reason() == nil {
		w.log.Error("the database is damaged, nothing is written to it any more", "path", w.path, "error", err)
	}
	return w.halt.stop(Fault(w.path, err))
}

// damaging reports whether an error says that the file is not what was written to it,
// or may not become so: it is damaged, or the system could not bring it to the disk. A
// full disk is none: SQLite undoes what did not fit.
func damaging(err error) bool {
	var e sqlite3.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code {
	case sqlite3.ErrCorrupt, sqlite3.ErrNotADB:
		return true
	case sqlite3.ErrIoErr:
		switch {
		case e.SystemErrno == syscall.ENOSPC, e.SystemErrno == syscall.EDQUOT:
			return false
		case e.SystemErrno == syscall.ESTALE: // a file of NFS that is not there any more
			return true
		}
		return e.ExtendedCode == sqlite3.ErrIoErrFsync || e.ExtendedCode == sqlite3.ErrIoErrDirFsync
	}
	return false
}

// requireFile makes sure that the open file has its name. Otherwise it stops all
// writing, after what is open was saved beside it. It must be called between
// transactions, or after undo has ended the one that is open.
func (w *writer) requireFile(undo func()) error {
	if w.files == nil {
		return nil
	}
	moved := w.files.Moved()
	if moved == nil {
		return nil
	}
	undo()
	w.keepJournal()
	var e *workflow.Error
	if !errors.As(moved, &e) {
		return w.halt.stop(moved)
	}
	to, err := w.rescue(context.Background())
	if err != nil {
		e = e.WithHint("what it had could not be saved: %v; restore it from a backup", err)
	} else {
		e = e.WithHint("what it had is in %s; to go on with that: mv %s %s", to, to, w.path)
	}
	w.log.Error("the database file is gone, nothing is written any more", "path", w.path, "error", moved, "saved_to", to, "saving_failed", err)
	return w.halt.stop(e)
}

// keepJournal has SQLite leave the journal alone when the connection is closed: the
// file of that name may be the journal of another database by now.
func (w *writer) keepJournal() {
	err := w.conn.Raw(func(conn any) error {
		return conn.(*sqlite3.SQLiteConn).SetFileControlInt("main", sqlite3.SQLITE_FCNTL_PERSIST_WAL, 1)
	})
	if err != nil {
		w.log.Warn("the journal of the database will be removed when it is closed", "path", w.path, "error", err)
	}
}

// rescued is the end of the name of a copy that was saved of a database whose file
// had gone.
const rescued = ".rescued-"

// rescue saves what the open database has in a new file beside its place, or in the
// next folder above that there is, and returns its path.
func (w *writer) rescue(ctx context.Context) (path string, err error) {
	name := filepath.Base(w.path) + rescued + w.now().UTC().Format("20060102T150405Z")
	for dir := filepath.Dir(w.path); ; dir = filepath.Dir(dir) {
		path, err = newFile(filepath.Join(dir, name))
		if !errors.Is(err, os.ErrNotExist) || dir == filepath.Dir(dir) {
			break
		}
	}
	if err != nil {
		return "", err
	}
	// Nothing is lost if this file is, until it is on the disk as a whole.
	if err := copyFree(ctx, path, url.Values{"_synchronous": {"OFF"}}, func(to *sql.Conn) error { return copyPages(to, w.conn) }); err != nil {
		return "", errors.Join(err, removeIfThere(path))
	}
	return path, errors.Join(syncPath(path), syncPath(filepath.Dir(path)))
}

// newFile makes an empty file that only its owner can read, under a name or, if that
// is in use, the next one.
func newFile(name string) (string, error) {
	path := name
	for i := 2; ; i++ {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err == nil {
			return path, f.Close()
		}
		if !errors.Is(err, os.ErrExist) {
			return "", err
		}
		path = fmt.Sprintf("%s-%d", name, i)
	}
}

// refuseRescued is an error if there is no database, but a copy that was saved of one
// whose file had gone: a new, empty one would hide that.
func refuseRescued(path string) error {
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		return nil // there is one, or opening it says what is wrong
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return nil //nolint:nilerr // opening it says what is wrong
	}
	latest := ""
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), filepath.Base(path)+rescued) {
			latest = filepath.Join(filepath.Dir(path), e.Name()) // sorted by their times
		}
	}
	if latest == "" {
		return nil
	}
	return workflow.Errorf(workflow.CodeConflict, "database %s was deleted while it was in use; what it had was saved in %s", path, latest).
		WithHint("to go on with that: mv %s %s; to begin with an empty one, move the copy to another folder or remove it", latest, path)
}
