package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/torc-slurm/torc-slurm/workflow"
)

func TestBackup(t *testing.T) {
	for _, network := range []bool{false, true} {
		w := newWritingOn(t, network)
		to := filepath.Join(t.TempDir(), "copy.db")
		writeFile(t, to+".part", "of a backup that was killed")
		err := errors.Join(w.Do("insert", insert("a")), w.Backup(t.Context(), to), w.Do("insert", insert("b")))
		if err != nil {
			t.Fatal(err)
		}
		wantCode(t, w.Backup(t.Context(), to), workflow.CodeConflict)
		if _, err := os.Stat(to + ".part"); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("an unfinished copy is left (%v)", err)
		}
		copied, err := Open(t.Context(), Options{Path: to})
		if err != nil {
			t.Fatal(err)
		}
		of := &writing{DB: copied, t: t}
		of.wantNames("a")
		if err := copied.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestBackupOfAClosedDatabase(t *testing.T) {
	dir := t.TempDir()
	path, to := filepath.Join(dir, "torc.db"), filepath.Join(dir, "copy.db")
	ourFile(t, path)
	if err := Backup(t.Context(), path, to); err != nil {
		t.Fatal(err)
	}
	ourFile(t, to)
}

func TestBackupRefuses(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "torc.db")
	ourFile(t, path)
	writeFile(t, filepath.Join(dir, "empty"), "")
	writeFile(t, filepath.Join(dir, "text"), strings.Repeat("text", 1000))
	for _, tc := range []struct{ from, to, want string }{
		{filepath.Join(dir, "none"), filepath.Join(dir, "copy"), "does not exist"},
		{dir, filepath.Join(dir, "copy"), "is a directory"},
		{filepath.Join(dir, "empty"), filepath.Join(dir, "copy"), "is empty"},
		{filepath.Join(dir, "text"), filepath.Join(dir, "copy"), "is not a database"},
		{path, filepath.Join(dir, "none", "copy"), "cannot be opened"},
		{path, path, "already exists"},
	} {
		err := Backup(t.Context(), tc.from, tc.to)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("back up %s to %s: %v, want %q", tc.from, tc.to, err, tc.want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a database was made (%v)", err)
	}
}
