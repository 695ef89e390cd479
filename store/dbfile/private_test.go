package dbfile_test

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/torc-slurm/torc-slurm/store/dbfile"
	"github.com/torc-slurm/torc-slurm/workflow"
)

const stranger = 65534

// TestTrustPlace: a database must not be where others can replace it, or beside a journal
// that another user created.
func TestTrustPlace(t *testing.T) {
	for _, tc := range []struct {
		name string
		make func(dir string) error
		want string
	}{
		{"new", func(string) error { return nil }, ""},
		{"in a folder that all can write", func(dir string) error { return os.Chmod(dir, 0o777) }, "everybody can write into the folder"},
		{"in a folder like /tmp", func(dir string) error { return os.Chmod(dir, 0o777|fs.ModeSticky) }, ""},
		{"beside a stranger's journal", func(dir string) error {
			path := filepath.Join(dir, "torc.db-journal")
			return errors.Join(os.WriteFile(path, nil, 0o644), os.Chown(path, stranger, stranger), os.Chmod(dir, 0o777|fs.ModeSticky))
		}, "belongs to"},
		{"a stranger's", func(dir string) error {
			path := filepath.Join(dir, "torc.db")
			return errors.Join(os.WriteFile(path, nil, 0o644), os.Chown(path, stranger, stranger))
		}, "belongs to"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := tc.make(dir); errors.Is(err, fs.ErrPermission) {
				t.Skip("only root can give files to another user")
			} else if err != nil {
				t.Fatal(err)
			}
			err := dbfile.TrustPlace(filepath.Join(dir, "torc.db"))
			if tc.want == "" && err != nil || tc.want != "" && (workflow.CodeOf(err) != workflow.CodeForbidden || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("%v; want %q", err, tc.want)
			}
		})
	}
}

// TestCloseToOthers: files that an earlier version left open are made private, which is
// logged.
func TestCloseToOthers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "torc.db")
	for _, end := range []string{"", "-wal"} {
		if err := os.WriteFile(path+end, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var log strings.Builder
	dbfile.CloseToOthers(path, slog.New(slog.NewTextHandler(&log, nil)))
	for _, end := range []string{"", "-wal"} {
		if info, err := os.Stat(path + end); err != nil || info.Mode() != 0o600 {
			t.Errorf("%s: %v, %v", path+end, info.Mode(), err)
		}
		if !strings.Contains(log.String(), "path="+path+end+" mode=0644") {
			t.Errorf("the log does not name %s:\n%s", path+end, log.String())
		}
	}
}
