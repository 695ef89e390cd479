package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// namesIn opens a database as its next owner would and reads its rows.
func namesIn(t *testing.T, path string) []string {
	t.Helper()
	checkPages(t, path)
	s, err := Open(t.Context(), Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	return (&writing{DB: s, t: t}).names()
}

// checkPages has SQLite check a file.
func checkPages(t *testing.T, path string) {
	t.Helper()
	db, conn, err := OpenReadOnly(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	defer conn.Close()
	for _, pragma := range []string{`PRAGMA integrity_check`, `PRAGMA foreign_key_check`} {
		rows, err := conn.QueryContext(t.Context(), pragma)
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			var line string
			if err := rows.Scan(&line); err != nil || line != "ok" {
				t.Errorf("%s of %s: %q, %v", pragma, path, line, err)
			}
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			t.Error(err)
		}
	}
}

func TestSnapshot(t *testing.T) {
	dir := t.TempDir()
	for name, o := range map[string]Options{
		"disk":    {Path: filepath.Join(dir, "disk.db")},
		"network": {Path: filepath.Join(dir, "network.db"), AsNetwork: true},
		"memory":  {InMemory: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := openWriting(t, o)
			to := filepath.Join(t.TempDir(), "snapshot.db")
			writeFile(t, to+".part", "of a snapshot that was killed")
			for _, row := range []string{"a", "b", "c", "d"} {
				w.insert(row)
				if err := w.Snapshot(t.Context(), to, 3); err != nil {
					t.Fatal(err)
				}
			}
			w.insert("e")
			for path, want := range map[string]string{to: "abcd", to + ".1": "abc", to + ".2": "ab"} {
				if got := strings.Join(namesIn(t, path), ""); got != want {
					t.Errorf("%s has %s, want %s", filepath.Base(path), got, want)
				}
			}
			for _, gone := range []string{to + ".3", to + ".part"} {
				if _, err := os.Stat(gone); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("%s is there (%v)", filepath.Base(gone), err)
				}
			}
			if err := w.Snapshot(t.Context(), to, 1); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(namesIn(t, to), ""); got != "abcde" {
				t.Errorf("the one that is kept has %s", got)
			}
		})
	}
}

// Nobody owns a snapshot, so another host need not wait for its owner's death.
func TestSnapshotHasNoOwner(t *testing.T) {
	w := openWriting(t, Options{InMemory: true})
	to := filepath.Join(t.TempDir(), "snapshot.db")
	if err := w.Snapshot(t.Context(), to, 1); err != nil {
		t.Fatal(err)
	}
	elsewhere := process{host: "elsewhere", pid: 1, bootID: "another"}
	openWriting(t, Options{Path: to, process: elsewhere})
}

// A database in memory replaces its file repeatedly, and starts from it.
func TestSnapshotOfItsFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "torc.db")
	want := killed(t, path)
	for _, name := range []string{"c", "d"} {
		s, err := Open(t.Context(), Options{Path: path, InMemory: true})
		if err != nil {
			t.Fatal(err)
		}
		w := &writing{DB: s, t: t}
		w.wantNames(want...)
		w.insert(name)
		want = append(want, name)
		if err := errors.Join(w.Snapshot(t.Context(), path, 5), w.Snapshot(t.Context(), path, 5), w.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if got := namesIn(t, path); !slices.Equal(got, want) {
		t.Errorf("rows %v, want %v", got, want)
	}
	if got := namesIn(t, path+".4"); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("the first file has %v", got)
	}
}

func TestSnapshotRefuses(t *testing.T) {
	dir := t.TempDir()
	w := openWriting(t, Options{Path: filepath.Join(dir, "torc.db")})
	other := openWriting(t, Options{Path: filepath.Join(dir, "other.db")})
	journal := filepath.Join(dir, "journal.db")
	writeFile(t, journal, "")
	writeFile(t, journal+"-wal", "of a sqlite3 shell")
	for _, tc := range []struct {
		to   string
		code workflow.Code
	}{
		{w.Path(), workflow.CodeInvalid},
		{other.Path(), workflow.CodeConflict},
		{journal, workflow.CodeConflict},
		{dir, workflow.CodeInvalid},
		{filepath.Join(dir, "none", "copy.db"), workflow.CodeInvalid},
	} {
		wantCode(t, w.Snapshot(t.Context(), tc.to, 5), tc.code)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*.part")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	w.insert("a")
	other.insert("a")
}

// Each snapshot is the database between two use cases, however busy it is.
func TestSnapshotWhileWriting(t *testing.T) {
	for _, o := range []Options{{InMemory: true}, {Path: filepath.Join(t.TempDir(), "torc.db")}} {
		w := openWriting(t, o)
		ctx, stop := context.WithCancel(t.Context())
		var writers sync.WaitGroup
		for range 3 {
			writers.Go(func() {
				for ctx.Err() == nil {
					err := w.Do("pair", func(tx *Tx) error { return errors.Join(insert("a")(tx), insert("b")(tx)) })
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		to := filepath.Join(t.TempDir(), "snapshot.db")
		last := 0
		for range 5 {
			if err := w.Snapshot(t.Context(), to, 1); err != nil {
				t.Error(err)
				break
			}
			n := len(namesIn(t, to))
			if n%2 != 0 || n < last {
				t.Errorf("%d rows after %d", n, last)
			}
			last = n
		}
		stop()
		writers.Wait()
	}
}
