package store_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/torc-slurm/torc-slurm/store"
)

// TestFilesAreForTheirOwner: environments of jobs are in the database, so nobody else can
// read it, nor a copy.
func TestFilesAreForTheirOwner(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "torc.db")
	s, err := store.Open(t.Context(), store.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() //nolint:errcheck // nothing was written
	if err := s.Backup(t.Context(), filepath.Join(dir, "backup.db")); err != nil {
		t.Fatal(err)
	}
	if err := s.Snapshot(t.Context(), filepath.Join(dir, "snapshot.db"), 2); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) < 6 {
		t.Fatalf("%v, %v; want the database, its journal, index and lock, and two copies", entries, err)
	}
	for _, e := range entries {
		if info, err := e.Info(); err != nil || info.Mode() != 0o600 {
			t.Errorf("%s: %v, %v", e.Name(), info.Mode(), err)
		}
	}
}
