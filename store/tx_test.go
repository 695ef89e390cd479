package store

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// What is counted may go up and down, and never below zero.
func TestCounts(t *testing.T) {
	s, err := Open(t.Context(), Options{Path: filepath.Join(t.TempDir(), "torc.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	insert := func(tx *core.Tx) error {
		_, err := tx.Insert(`INSERT INTO workflow (name, user, timestamp) VALUES ('a', 'me', '')`)
		return err
	}
	move := func(n int64) error {
		return s.shared.Do("count", func(tx *core.Tx) error {
			tx.Count(1, workflow.Ready, n)
			return nil
		})
	}
	if err := errors.Join(s.shared.Do("insert", insert), move(3), move(-2)); err != nil {
		t.Fatal(err)
	}
	if err := move(-2); err == nil {
		t.Error("a count went below zero")
	}
	var n int
	if err := s.db.Read.QueryRowContext(t.Context(), `SELECT n FROM job_count WHERE workflow_id = 1 AND status = 2`).Scan(&n); err != nil || n != 1 {
		t.Errorf("count %d, %v, want 1", n, err)
	}
}
