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

// ofVersion writes a database of a schema version, and runs statements on it.
func ofVersion(t *testing.T, version int, statements ...string) (path string) {
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
	for i, text := range scripts()[:version] {
		if err := apply(t.Context(), conn, text, i+1); err != nil {
			t.Fatal(err)
		}
	}
	for _, statement := range statements {
		if _, err := conn.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	return path
}

// firstVersion writes a database of the first schema version, whose owner is on another
// host.
func firstVersion(t *testing.T, beat time.Time) (path string) {
	return ofVersion(t, 1, fmt.Sprintf(`INSERT INTO owner (id, host, pid, boot_id, machine_id, epoch, started_ms, beat_ms)
		VALUES (1, 'elsewhere', 7, 'boot', 'machine', 3, %[1]d, %[1]d)`, beat.UnixMilli()))
}

// A database of the previous version opens, after a backup; its owner is respected as
// before.
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

// The values of the columns that migration 5 replaces are in its column torc_extra.
func TestTorcExtraOfTheFourthVersion(t *testing.T) {
	path := ofVersion(t, 4,
		`INSERT INTO workflow (id, name, user, timestamp, compute_node_expiration_buffer_seconds, enable_ro_crate, access_groups) VALUES
			(1, 'all', 'me', '', 60, 1, '["a \"b\"","c"]'), (2, 'none', 'me', '', NULL, NULL, NULL), (3, 'some', 'me', '', 0, 0, NULL)`,
		`INSERT INTO resource_requirements (id, workflow_id, name, num_cpus, num_gpus, num_nodes, memory, runtime, memory_bytes, runtime_s)
			VALUES (1, 1, 'default', 1, 0, 1, '1m', 'PT1M', 1, 60)`,
		`INSERT INTO claim_class (id, workflow_id, requirements_id, scheduler_id, labels, priority) VALUES (1, 1, 1, 0, '', 0)`,
		`INSERT INTO job (id, workflow_id, name, command, class_id, supports_termination) VALUES (1, 1, 'yes', 'true', 1, 1), (2, 1, 'no', 'true', 1, 0)`,
	)
	s, err := Open(t.Context(), Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for query, want := range map[string]string{
		`SELECT name, torc_extra FROM workflow ORDER BY id`: `all {"compute_node_expiration_buffer_seconds":60,"enable_ro_crate":true,"access_groups":["a \"b\"","c"]}
none null
some {"compute_node_expiration_buffer_seconds":0,"enable_ro_crate":false}
`,
		`SELECT name, torc_extra FROM job ORDER BY id`: `yes {"supports_termination":true}
no null
`,
	} {
		rows, err := s.Read.QueryContext(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		got := ""
		for rows.Next() {
			var name string
			var extra sql.NullString
			if err := rows.Scan(&name, &extra); err != nil {
				t.Fatal(err)
			}
			if !extra.Valid {
				extra.String = "null"
			}
			got += name + " " + extra.String + "\n"
		}
		if err := rows.Err(); err != nil || got != want {
			t.Errorf("%s, %v:\n%swant\n%s", query, err, got, want)
		}
	}
}

// Classifications of the fifth version go on without what migration 6 adds.
func TestClassificationsOfTheFifthVersion(t *testing.T) {
	path := ofVersion(t, 5,
		`INSERT INTO workflow (id, name, user, timestamp) VALUES (1, 'w', 'me', '')`,
		`INSERT INTO classification (workflow_id, job_id, run_id, attempt_id, at_ms, status, author, reason, confidence, memory, runtime)
			VALUES (1, 7, 1, 1, 5, 2, 'ann', 'again', '', '2g', '')`)
	s, err := Open(t.Context(), Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var cpus, proposals int64
	var memory, fingerprint string
	err = s.Read.QueryRowContext(t.Context(), `SELECT memory, num_cpus, fingerprint, (SELECT COUNT(*) FROM proposal) FROM classification`).Scan(&memory, &cpus, &fingerprint, &proposals)
	if err != nil || memory != "2g" || cpus != 0 || fingerprint != "" || proposals != 0 {
		t.Errorf("%q, %d CPUs, %q, %d proposals, %v", memory, cpus, fingerprint, proposals, err)
	}
}

// TestMigrationsAreNumbered: two migrations with one number, from two branches, would be
// applied in the order of their names, which nobody has chosen.
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
