package sqlite

import (
	"database/sql"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// firstVersion writes a database of the first schema version, with a workflow and
// an owner that is on another host.
func firstVersion(t *testing.T, beat time.Time) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "t.db")
	db, err := sql.Open("sqlite3", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := apply(t.Context(), conn, scripts()[0], 1); err != nil {
		t.Fatal(err)
	}
	ms := beat.UnixMilli()
	_, err = conn.ExecContext(t.Context(), `INSERT INTO owner (id, host, pid, boot_id, machine_id, epoch, started_ms, beat_ms) VALUES (1, 'elsewhere', 7, 'boot', 'machine', 3, ?, ?)`, ms, ms)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// A database of the version before opens, after a backup; what owned it is
// believed as before.
func TestDatabaseOfTheFirstVersion(t *testing.T) {
	path := firstVersion(t, time.Now().Add(-time.Hour))
	s, err := Open(t.Context(), Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Do("insert", insert("w")); err != nil {
		t.Error(err)
	}
	row, err := readOwner(t.Context(), s.Read)
	if err != nil || row.epoch != 4 || row.life == "" || row.file == "" || row.takeover == "" {
		t.Errorf("owner %+v, %v", row, err)
	}
	backups, err := filepath.Glob(path + ".v1-*.bak")
	if err != nil || len(backups) != 1 {
		t.Fatalf("backups %q, %v", backups, err)
	}
	if info, err := os.Stat(backups[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the backup: %v, %v", info, err)
	}
}

func TestOwnedDatabaseOfTheFirstVersion(t *testing.T) {
	path := firstVersion(t, time.Now())
	if s, err := Open(t.Context(), Options{Path: path}); workflow.CodeOf(err) != workflow.CodeConflict {
		t.Errorf("opened %v: %v", s, err)
	}
}

// TestMigrationsAreNumbered: two with one number, from two branches, would be applied
// in the order of their names, which nobody has chosen.
func TestMigrationsAreNumbered(t *testing.T) {
	t.Parallel()
	names, err := fs.Glob(migrations, "migration/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range names {
		if want := fmt.Sprintf("migration/%04d_", i+1); !strings.HasPrefix(name, want) {
			t.Errorf("%s is version %d, its name should begin with %s", name, i+1, want)
		}
	}
}
