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

// halt is the state of a database that must never be written again: its file is gone or
// damaged, so that changes would be lost or cause more damage.
type halt struct {
	once sync.Once
	lost chan struct{} // closed when the database halts
	err  error         // why; set before lost is closed
}

// stop stops all writing, unless it has stopped already, and returns the reason.
func (h *halt) stop(err error) error {
	h.once.Do(func() {
		h.err = err
		close(h.lost)
	})
	return h.err
}

// reason returns why the database must not be written any more; nil if it may.
func (h *halt) reason() error {
	select {
	case <-h.lost:
		return h.err
	default:
		return nil
	}
}

// noticed stops all writing if err means that the file is damaged, and returns the
// resulting error; nil for other errors. It may be called from any goroutine.
func (w *writer) noticed(err error) error {
	if !damaging(err) {
		return nil
	}
	if w.halt.reason() == nil {
		w.log.Error("the database is damaged, nothing is written to it any more", "path", w.path, "error", err)
	}
	return w.halt.stop(Fault(w.path, err))
}

// damaging reports whether an error means that the file is damaged or could not be written.
// A full disk does not count: SQLite rolls back what did not fit.
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
		case e.SystemErrno == syscall.ESTALE: // an NFS file that no longer exists
			return true
		}
		return e.ExtendedCode == sqlite3.ErrIoErrFsync || e.ExtendedCode == sqlite3.ErrIoErrDirFsync
	}
	return false
}

// requireFile checks that the open file still has its name. Otherwise it stops all writing,
// and saves the content beside it. It must be called between transactions, or with undo to
// roll back the open one.
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
		e = e.WithHint("its content could not be saved: %v; restore it from a backup", err)
	} else {
		e = e.WithHint("its content is in %s; to continue with that: mv %s %s", to, to, w.path)
	}
	w.log.Error("the database file is gone, nothing is written any more", "path", w.path, "error", moved, "saved_to", to, "saving_failed", err)
	return w.halt.stop(e)
}

// keepJournal makes SQLite keep the journal when the connection is closed, since a file
// with its name may be the journal of another database by now.
func (w *writer) keepJournal() {
	err := w.conn.Raw(func(conn any) error {
		return conn.(*sqlite3.SQLiteConn).SetFileControlInt("main", sqlite3.SQLITE_FCNTL_PERSIST_WAL, 1)
	})
	if err != nil {
		w.log.Warn("the journal of the database will be removed when it is closed", "path", w.path, "error", err)
	}
}

// rescued is in the name of the saved copy of a database whose file had disappeared.
const rescued = ".rescued-"

// rescue saves the content of the open database to a new file beside its place, or in the
// nearest parent folder that exists, and returns the path.
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
	// A crash before it is complete loses nothing but this file.
	if err := copyFree(ctx, path, url.Values{"_synchronous": {"OFF"}}, func(to *sql.Conn) error { return copyPages(to, w.conn) }); err != nil {
		return "", errors.Join(err, removeIfThere(path))
	}
	return path, errors.Join(syncPath(path), syncPath(filepath.Dir(path)))
}

// newFile creates an empty file that only its owner can read. It changes the name if that
// is in use.
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

// refuseRescued returns an error if the database does not exist but a rescued copy does: a
// new, empty database would hide that.
func refuseRescued(path string) error {
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		return nil // it exists, or opening it will fail with the reason
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return nil //nolint:nilerr // opening it will fail with the reason
	}
	latest := ""
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), filepath.Base(path)+rescued) {
			latest = filepath.Join(filepath.Dir(path), e.Name()) // sorted by time
		}
	}
	if latest == "" {
		return nil
	}
	return workflow.Errorf(workflow.CodeConflict, "database %s was deleted while it was in use; its content was saved in %s", path, latest).
		WithHint("to continue with that: mv %s %s; to start with an empty one, move the copy to another folder or remove it", latest, path)
}
