package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// sqlFile creates a database with plain SQLite.
func sqlFile(t *testing.T, path string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite3", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, s := range statements {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// ourFile creates a database of ours with one workflow, closed.
func ourFile(t *testing.T, path string) {
	t.Helper()
	s, err := Open(t.Context(), Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Do("insert", insert("w")), s.Close()); err != nil {
		t.Fatal(err)
	}
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestOpenRefuses(t *testing.T) {
	for _, tc := range []struct {
		name string
		make func(t *testing.T, path string)
		code workflow.Code
		want string
	}{
		{"a directory", func(t *testing.T, path string) {
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
		}, workflow.CodeInvalid, "is a directory"},
		{"a device", func(t *testing.T, path string) {
			if err := os.Symlink(os.DevNull, path); err != nil {
				t.Fatal(err)
			}
		}, workflow.CodeInvalid, "not a file"},
		{"text", func(t *testing.T, path string) {
			writeFile(t, path, strings.Repeat("name: not a database\n", 100))
		}, workflow.CodeCorrupt, "is not a database"},
		{"cut off", func(t *testing.T, path string) {
			ourFile(t, path)
			if err := os.Truncate(path, 64<<10); err != nil {
				t.Fatal(err)
			}
		}, workflow.CodeCorrupt, "is damaged"},
		{"a damaged schema", func(t *testing.T, path string) {
			ourFile(t, path)
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if _, err := f.WriteAt(bytes.Repeat([]byte{0xEE}, 3000), 100); err != nil {
				t.Fatal(err)
			}
		}, workflow.CodeCorrupt, "is damaged"},
		{"a later release", func(t *testing.T, path string) {
			ourFile(t, path)
			sqlFile(t, path, `PRAGMA journal_mode = DELETE`, fmt.Sprintf(`PRAGMA user_version = %d`, SchemaVersion()+1))
		}, workflow.CodeUnsupported, "use the newer torc-slurm"},
		{"a version between releases", func(t *testing.T, path string) {
			ourFile(t, path)
			sqlFile(t, path, `PRAGMA journal_mode = DELETE`, `UPDATE migration SET hash = 'of another script'`)
		}, workflow.CodeUnsupported, "between two releases"},
		{"an early version between releases", func(t *testing.T, path string) {
			ourFile(t, path)
			sqlFile(t, path, `PRAGMA journal_mode = DELETE`, `DROP TABLE migration`)
		}, workflow.CodeUnsupported, "between two releases"},
		{"torc's", func(t *testing.T, path string) {
			sqlFile(t, path, `CREATE TABLE _sqlx_migrations (version BIGINT)`, `CREATE TABLE workflow (id INTEGER)`)
		}, workflow.CodeUnsupported, "is a database of torc"},
		{"another program's", func(t *testing.T, path string) {
			sqlFile(t, path, `CREATE TABLE bookmark (id INTEGER)`)
		}, workflow.CodeUnsupported, "of another program"},
		{"another application id", func(t *testing.T, path string) {
			sqlFile(t, path, `PRAGMA application_id = 77`)
		}, workflow.CodeUnsupported, "of another program"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "torc.db")
			tc.make(t, path)
			before, _ := os.ReadFile(path)
			s, err := Open(t.Context(), Options{Path: path})
			if err == nil {
				s.Close()
				t.Fatal("opened")
			}
			wantCode(t, err, tc.code)
			if !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("error %q does not say %q and the path", err, tc.want)
			}
			var known *workflow.Error
			if !errors.As(err, &known) || known.Hint == "" {
				t.Errorf("error %q does not say what to do", err)
			}
			if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
				t.Error("the file has changed")
			}
		})
	}
}

// A database of a later release whose writer was killed has its last changes
// in the journal. Both files stay as they are.
func TestOpenLeavesTheJournalOfALaterReleaseAlone(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(t.Context(), Options{Path: filepath.Join(dir, "live.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	err = s.Do("later", func(tx *Tx) error {
		_, err := tx.Exec(fmt.Sprintf(`PRAGMA user_version = %d`, SchemaVersion()+1))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	killed := filepath.Join(dir, "killed.db")
	before := map[string][]byte{}
	for _, ending := range []string{"", "-wal"} {
		text, err := os.ReadFile(s.Path() + ending)
		if err != nil {
			t.Fatal(err)
		}
		before[ending] = text
		writeFile(t, killed+ending, string(text))
	}
	_, err = Open(t.Context(), Options{Path: killed})
	wantCode(t, err, workflow.CodeUnsupported)
	for ending, want := range before {
		if got, err := os.ReadFile(killed + ending); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s has changed (%v)", killed+ending, err)
		}
	}
}

func TestOpenWithoutPlace(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "file"), "")
	for path, want := range map[string]string{
		"":                                    "no database path",
		filepath.Join(dir, "no", "torc.db"):   "does not exist (create it: mkdir -p " + filepath.Join(dir, "no") + ")",
		filepath.Join(dir, "file", "torc.db"): "is not a folder",
	} {
		if _, err := Open(t.Context(), Options{Path: path}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("open %q: %v, want %q", path, err, want)
		}
	}
}

func TestOpenAccepts(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"torc.db", ":memory:", "file:x?mode=memory", "50% of #1 & ümlaut.db", "-rf"} {
		ourFile(t, name)
		ourFile(t, name)
		s, err := Open(t.Context(), Options{Path: name})
		if err != nil {
			t.Fatal(err)
		}
		var n int
		if err := s.Read.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM workflow`).Scan(&n); err != nil || n != 2 {
			t.Errorf("%s: %d workflows, %v, want those of both times", name, n, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(filepath.Join(".", name+"-wal")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: a journal is left (%v)", name, err)
		}
	}
	writeFile(t, "empty.db", "")
	ourFile(t, "empty.db")
}

// asNobody runs f as a user who owns nothing, whoever runs the test.
func asNobody(t *testing.T, f func()) {
	t.Helper()
	if os.Getuid() != 0 {
		f()
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		if err := unix.Setfsuid(65534); err != nil {
			t.Error(err)
			return
		}
		f()
	}()
	<-done
}

func TestOpenReadOnly(t *testing.T) {
	root := t.TempDir()
	for _, tc := range []struct {
		name      string
		dir, file os.FileMode
		want      string
	}{
		{"the file", 0o777 | os.ModeSticky, 0o444, "cannot be written"},
		{"the folder", 0o555, 0o666, "permission denied"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := filepath.Join(root, strings.ReplaceAll(tc.name, " ", "-"))
			path := filepath.Join(dir, "torc.db")
			if err := os.Mkdir(dir, 0o777); err != nil {
				t.Fatal(err)
			}
			ourFile(t, path)
			err := errors.Join(os.Remove(path+".lock"), os.Chmod(path, tc.file), os.Chmod(dir, tc.dir), //nolint:gosec // so that nobody can open it
				os.Chmod(root, 0o755), os.Chmod(filepath.Dir(root), 0o755)) //nolint:gosec // so
			if err != nil {
				t.Fatal(err)
			}
			defer os.Chmod(dir, 0o700) //nolint:errcheck // so that it can be removed
			asNobody(t, func() { _, err = Open(context.Background(), Options{Path: path}) })
			wantCode(t, err, workflow.CodeUnavailable)
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "read-only") {
				t.Errorf("error %v, want %q and a hint", err, tc.want)
			}
		})
	}
}

// If a program keeps the database locked, there is an error about that after a while;
// nothing that was acknowledged is lost.
func TestLockedByAnotherProgram(t *testing.T) {
	w := newWriting(t)
	if err := w.Do("impatient", func(tx *Tx) error {
		_, err := tx.Exec(`PRAGMA busy_timeout = 1`)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite3", w.Path()+"?_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	other, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	err = w.Do("insert", insert("a"))
	wantCode(t, err, workflow.CodeUnavailable)
	if err := other.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := w.Do("insert", insert("b")); err != nil {
		t.Error(err)
	}
	w.wantNames("b")
}

// The database of a release is backed up before the next one changes it. A migration that
// fails leaves it unchanged.
func TestMigration(t *testing.T) {
	path := filepath.Join(t.TempDir(), "torc.db")
	ourFile(t, path)
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
	version := SchemaVersion()
	now := time.Date(2026, 11, 21, 14, 0, 0, 0, time.UTC)
	next := append(scripts(), `ALTER TABLE workflow ADD COLUMN colour TEXT;`)
	broken := append(slices.Clone(next), `ALTER TABLE workflow ADD COLUMN shape TEXT; DROP TABLE no_such_table;`)
	if err := migrate(t.Context(), conn, path, version, broken, now); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("to schema version %d: no such table", version+2)) {
		t.Errorf("broken migration: %v", err)
	}
	var got, columns int
	err = errors.Join(conn.QueryRowContext(t.Context(), `PRAGMA user_version`).Scan(&got),
		conn.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM pragma_table_info('workflow') WHERE name IN ('colour', 'shape')`).Scan(&columns))
	if err != nil || got != version+1 || columns != 1 {
		t.Errorf("version %d with %d new columns, %v, want version %d with one", got, columns, err, version+1)
	}
	ourFile(t, fmt.Sprintf("%s.v%d-20261121T140000Z.bak", path, version))
}

func TestOfTorc(t *testing.T) {
	dir := t.TempDir()
	ours, torc := filepath.Join(dir, "ours.db"), filepath.Join(dir, "torc.db")
	ourFile(t, ours)
	sqlFile(t, torc, `CREATE TABLE _sqlx_migrations (version BIGINT)`)
	writeFile(t, filepath.Join(dir, "text"), "no database")
	for name, want := range map[string]bool{ours: false, torc: true, filepath.Join(dir, "text"): false, filepath.Join(dir, "none"): false} {
		if got := OfTorc(t.Context(), name); got != want {
			t.Errorf("%s: %v", filepath.Base(name), got)
		}
	}
}
