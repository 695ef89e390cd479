package sqlite

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/mattn/go-sqlite3"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// rescuedCopies lists the copies that were saved in a folder.
func rescuedCopies(t *testing.T, dir string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*"+rescued+"*"))
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

func wantHalted(t *testing.T, w *writing, err error, code workflow.Code, want string) {
	t.Helper()
	wantCode(t, err, code)
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Fatalf("error %v, want %q in it", err, want)
	}
	select {
	case <-w.Lost():
	default:
		t.Error("Lost is not closed")
	}
	if again := w.Do("insert", insert("later")); !errors.Is(again, w.Err()) {
		t.Errorf("a later use case: %v, want %v", again, w.Err())
	}
}

// What was acknowledged is in the copy, and nothing is acknowledged that is stored
// nowhere.
func TestDeletedDatabase(t *testing.T) {
	for _, tc := range []struct {
		name string
		do   func(path string) error
		want string
		back bool // the copy is in the folder above
	}{
		{"deleted", os.Remove, "was deleted or moved", false},
		{"moved", func(path string) error { return os.Rename(path, path+".away") }, "was deleted or moved", false},
		{"journal deleted", func(path string) error { return os.Remove(path + "-wal") }, "torc.db-wal was deleted or moved", false},
		{"replaced", func(path string) error {
			if err := os.WriteFile(path+".new", []byte("another"), 0o600); err != nil {
				return err
			}
			return os.Rename(path+".new", path)
		}, "was replaced by another file", false},
		{"folder deleted", func(path string) error { return os.RemoveAll(filepath.Dir(path)) }, "was deleted or moved", true},
	} {
		for _, network := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, network %v", tc.name, network), func(t *testing.T) {
				w := newWritingOn(t, network)
				path := w.Path()
				if err := w.Do("insert", insert("acknowledged")); err != nil {
					t.Fatal(err)
				}
				if err := tc.do(path); err != nil {
					t.Fatal(err)
				}
				wantHalted(t, w, w.Do("insert", insert("refused")), workflow.CodeUnavailable, tc.want)
				dir := filepath.Dir(path)
				if tc.back {
					dir = filepath.Dir(dir)
				}
				copies := rescuedCopies(t, dir)
				if len(copies) != 1 {
					t.Fatalf("copies %q, want one", copies)
				}
				var told *workflow.Error
				if !errors.As(w.Err(), &told) || !strings.Contains(told.Hint, copies[0]) {
					t.Errorf("the error does not name the copy %s: %+v", copies[0], told)
				}
				info, err := os.Stat(copies[0])
				if err != nil || info.Mode().Perm() != 0o600 {
					t.Errorf("mode of the copy: %v, %v", info.Mode(), err)
				}
				s, err := Open(t.Context(), Options{Path: copies[0]})
				if err != nil {
					t.Fatal(err)
				}
				saved := &writing{DB: s, t: t}
				saved.wantNames("acknowledged")
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// If the file disappears while a group is being committed, the answers of the group are
// errors, although the copy has what was committed.
func TestDeletedWhileCommitting(t *testing.T) {
	path := filepath.Join(t.TempDir(), "torc.db")
	var once sync.Once
	armed := false
	s, err := Open(t.Context(), Options{Path: path, Log: slog.New(slog.DiscardHandler), Failpoint: func(name string) {
		if name == "store.commit.after" && armed {
			once.Do(func() { os.Remove(path) })
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	w := &writing{DB: s, t: t}
	errs := w.together(func(tx *Tx) error { armed = true; return insert("a")(tx) }, insert("b"))
	for _, err := range errs {
		wantCode(t, err, workflow.CodeUnavailable)
	}
	wantHalted(t, w, errs[0], workflow.CodeUnavailable, "was deleted or moved")
}

// The journal of a database that took the place is not touched.
func TestReplacedDatabaseIsNotTouched(t *testing.T) {
	w := newWriting(t)
	path := w.Path()
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		if err := os.Rename(name, name+".away"); err != nil {
			t.Fatal(err)
		}
		writeFile(t, name, "another")
	}
	wantHalted(t, w, w.Do("insert", insert("refused")), workflow.CodeUnavailable, "was replaced")
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		if text, err := os.ReadFile(name); err != nil || string(text) != "another" {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
}

// An empty database does not take the place of a saved one.
func TestNoNewDatabaseBesideSavedOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "torc.db")
	writeFile(t, path+rescued+"20261122T100000Z", "")
	_, err := Open(t.Context(), Options{Path: path})
	wantCode(t, err, workflow.CodeConflict)
	if err := os.Remove(path + rescued + "20261122T100000Z"); err != nil {
		t.Fatal(err)
	}
	ourFile(t, path)
}

func TestDamageHalts(t *testing.T) {
	for _, tc := range []struct {
		name  string
		err   sqlite3.Error
		halts bool
	}{
		{"corrupt", sqlite3.Error{Code: sqlite3.ErrCorrupt}, true},
		{"no database", sqlite3.Error{Code: sqlite3.ErrNotADB}, true},
		{"fsync", sqlite3.Error{Code: sqlite3.ErrIoErr, ExtendedCode: sqlite3.ErrIoErrFsync, SystemErrno: syscall.EIO}, true},
		{"fsync of a full disk", sqlite3.Error{Code: sqlite3.ErrIoErr, ExtendedCode: sqlite3.ErrIoErrFsync, SystemErrno: syscall.ENOSPC}, false},
		{"stale", sqlite3.Error{Code: sqlite3.ErrIoErr, ExtendedCode: sqlite3.ErrIoErrRead, SystemErrno: syscall.ESTALE}, true},
		{"read", sqlite3.Error{Code: sqlite3.ErrIoErr, ExtendedCode: sqlite3.ErrIoErrRead, SystemErrno: syscall.EIO}, false},
		{"full", sqlite3.Error{Code: sqlite3.ErrFull}, false},
		{"busy", sqlite3.Error{Code: sqlite3.ErrBusy}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWriting(t)
			errs := w.together(insert("a"), func(*Tx) error { return fmt.Errorf("do: %w", tc.err) }, insert("c"))
			if errs[1] == nil {
				t.Error("the damage is no error")
			}
			if !tc.halts {
				w.wantNames("a", "c")
				return
			}
			wantHalted(t, w, errs[1], workflow.CodeOf(w.Err()), "database")
			for _, err := range errs {
				if !errors.Is(err, w.Err()) {
					t.Errorf("a use case of the same group: %v", err)
				}
			}
			w.wantNames()
		})
	}
}

// A reader that finds the file damaged stops the writer.
func TestDamageThatReadersSee(t *testing.T) {
	for _, network := range []bool{false, true} {
		w := newWritingOn(t, network)
		for i := range 200 {
			if err := w.Do("insert", insert(strings.Repeat(fmt.Sprint(i%10), 3000))); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Do("checkpoint", func(tx *Tx) error { return nil }); err != nil {
			t.Fatal(err)
		}
		if _, err := w.writer.conn.ExecContext(t.Context(), `PRAGMA wal_checkpoint(TRUNCATE)`); err != nil {
			t.Fatal(err)
		}
		if _, err := w.writer.conn.ExecContext(t.Context(), `PRAGMA shrink_memory`); err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(w.Path(), os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		info, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		const page = 4096
		for at := info.Size() / 2 / page * page; at < info.Size(); at += page {
			if _, err := f.WriteAt([]byte{0xEE, 0xEE, 0xEE, 0xEE, 0xEE, 0xEE, 0xEE, 0xEE}, at); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		rows, err := w.Read.QueryContext(t.Context(), `SELECT name FROM workflow`)
		if err == nil {
			_, err = Collect(rows, ScanString)
		}
		if err == nil {
			t.Fatal("nothing was damaged")
		}
		wantHalted(t, w, w.Do("insert", insert("refused")), workflow.CodeCorrupt, "is damaged")
	}
}
