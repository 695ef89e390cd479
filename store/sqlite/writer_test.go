package sqlite

import (
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mattn/go-sqlite3"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// writing is a store whose writer can be held in the middle of a use case.
type writing struct {
	*DB
	t      *testing.T
	points []string // passed failpoints; the writer's goroutine owns it
}

func newWriting(t *testing.T) *writing {
	t.Helper()
	return newWritingOn(t, false)
}

func newWritingOn(t *testing.T, network bool) *writing {
	t.Helper()
	w := &writing{t: t}
	s, err := Open(t.Context(), Options{
		Path:      filepath.Join(t.TempDir(), "torc.db"),
		AsNetwork: network,
		Log:       slog.New(slog.DiscardHandler),
		Failpoint: func(name string) { w.points = append(w.points, name) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	w.DB = s
	return w
}

// insert returns a use case that leaves a row.
func insert(name string) func(*Tx) error {
	return func(tx *Tx) error {
		_, err := tx.Insert(`INSERT INTO workflow (name, user, timestamp) VALUES (?, 'me', '')`, name)
		return err
	}
}

// names lists the rows of insert.
func (w *writing) names() []string {
	w.t.Helper()
	rows, err := w.Read.QueryContext(w.t.Context(), `SELECT name FROM workflow ORDER BY id`)
	if err != nil {
		w.t.Fatal(err)
	}
	names, err := Collect(rows, ScanString)
	if err != nil {
		w.t.Fatal(err)
	}
	return names
}

func (w *writing) wantNames(want ...string) {
	w.t.Helper()
	if got := w.names(); !slices.Equal(got, want) {
		w.t.Errorf("there are rows %q, want %q", got, want)
	}
}

// together runs use cases in one shared transaction, in their order, and returns their
// errors.
func (w *writing) together(fns ...func(*Tx) error) []error {
	w.t.Helper()
	w.writer.groupTime = time.Hour // however slow the machine is
	errs := make([]error, len(fns))
	var answers sync.WaitGroup
	inside, queued := make(chan struct{}), make(chan struct{})
	entered := sync.OnceFunc(func() { close(inside) })
	answers.Go(func() {
		errs[0] = w.Do("0", func(tx *Tx) error {
			entered()
			<-queued
			return fns[0](tx)
		})
	})
	<-inside
	for i, fn := range fns[1:] {
		answers.Go(func() { errs[i+1] = w.Do(fmt.Sprint(i+1), fn) })
		for len(w.writer.queue) != i+1 {
			runtime.Gosched()
		}
	}
	close(queued)
	answers.Wait()
	return errs
}

func TestGroupCommit(t *testing.T) {
	w := newWriting(t)
	errs := w.together(insert("a"), insert("b"), insert("c"))
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	w.wantNames("a", "b", "c")
	want := []string{"store.commit.before", "store.commit.after", "store.answer.before", "store.answer.after"}
	if w.Close(); !slices.Equal(w.points[:4], want) {
		t.Errorf("failpoints of three use cases: %q, want one commit: %q", w.points, want)
	}
}

func TestFailureLeavesNeighboursAlone(t *testing.T) {
	w := newWriting(t)
	bad := errors.New("bad")
	errs := w.together(insert("a"), func(tx *Tx) error {
		return errors.Join(insert("b")(tx), bad)
	}, insert("c"))
	if errs[0] != nil || !errors.Is(errs[1], bad) || errs[2] != nil {
		t.Errorf("errors %v, want only the second", errs)
	}
	w.wantNames("a", "c")
}

func TestPanicIsAnError(t *testing.T) {
	w := newWriting(t)
	errs := w.together(insert("a"), func(tx *Tx) error {
		if err := insert("b")(tx); err != nil {
			return err
		}
		if _, err := tx.Query(`SELECT id FROM workflow`); err != nil { //nolint:rowserrcheck // left open on purpose
			return err
		}
		panic("oops")
	}, insert("c"))
	if errs[0] != nil || errs[1] == nil || !strings.Contains(errs[1].Error(), "oops") || errs[2] != nil {
		t.Errorf("errors %v, want only the second, with the panic", errs)
	}
	w.wantNames("a", "c")
}

// If a transaction is lost as a whole, each use case is repeated alone; only those that
// fail again have failed.
func TestLostTransactionIsRepeatedAlone(t *testing.T) {
	w := newWriting(t)
	runs := 0
	lose := func(tx *Tx) error { // as SQLite does by itself when a disk is full
		runs++
		if err := tx.w.exec("ROLLBACK"); err != nil {
			return err
		}
		return errors.New("lost")
	}
	errs := w.together(insert("a"), lose, insert("c"))
	if errs[0] != nil || errs[1] == nil || errs[2] != nil {
		t.Errorf("errors %v, want only the second", errs)
	}
	if runs != 2 {
		t.Errorf("the losing use case ran %d times, want once in the group and once alone", runs)
	}
	w.wantNames("a", "c")
}

// A COMMIT that fails because of one use case does not affect the others.
func TestFailingCommitIsRepeatedAlone(t *testing.T) {
	w := newWriting(t)
	dangling := func(tx *Tx) error { // detected at COMMIT
		if _, err := tx.Exec(`PRAGMA defer_foreign_keys = on`); err != nil {
			return err
		}
		_, err := tx.Insert(`INSERT INTO remote_worker (workflow_id, worker) VALUES (99, 'w')`)
		return err
	}
	errs := w.together(insert("a"), dangling, insert("c"))
	var e sqlite3.Error
	if errs[0] != nil || !errors.As(errs[1], &e) || e.Code != sqlite3.ErrConstraint || errs[2] != nil {
		t.Errorf("errors %v, want only the second, of a constraint", errs)
	}
	w.wantNames("a", "c")
}

func TestRowsLeftOpen(t *testing.T) {
	w := newWriting(t)
	open := func(tx *Tx) (*sql.Rows, error) { return tx.Query(`SELECT id FROM workflow`) }
	for name, fn := range map[string]func(*Tx) error{
		"at the end": func(tx *Tx) error {
			_, err := open(tx) //nolint:rowserrcheck // left open on purpose
			return err
		},
		"at the next statement": func(tx *Tx) error {
			if _, err := open(tx); err != nil { //nolint:rowserrcheck // left open on purpose
				return err
			}
			return insert("b")(tx)
		},
	} {
		if err := w.Do(name, fn); !errors.Is(err, errOpenRows) {
			t.Errorf("%s: %v, want %v", name, err, errOpenRows)
		}
	}
	err := w.Do("closed", func(tx *Tx) error {
		rows, err := open(tx) //nolint:rowserrcheck // closed unread
		if err != nil {
			return err
		}
		if err := rows.Close(); err != nil {
			return err
		}
		return insert("c")(tx)
	})
	if err != nil {
		t.Error(err)
	}
	w.wantNames("c")
}

func TestAnswerComesAfterCommit(t *testing.T) {
	w := newWriting(t)
	for i := range 20 {
		if err := w.Do("insert", insert("a")); err != nil {
			t.Fatal(err)
		}
		if n := len(w.names()); n != i+1 {
			t.Fatalf("after the answer %d rows can be read, want %d", n, i+1)
		}
	}
}

func TestCloseWhileBusy(t *testing.T) {
	w := newWriting(t)
	const n = 200
	errs := make(chan error, n)
	for range n {
		go func() { errs <- w.Do("insert", insert("a")) }()
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	done := 0
	for range n {
		switch err := <-errs; {
		case err == nil:
			done++
		case !errors.Is(err, errClosed):
			t.Error(err)
		}
	}
	again, err := Open(t.Context(), Options{Path: w.Path()})
	if err != nil {
		t.Fatal(err)
	}
	w.DB = again // closed by the test's end
	t.Cleanup(func() { again.Close() })
	if got := len(w.names()); got != done {
		t.Errorf("%d rows are there, %d were acknowledged", got, done)
	}
}

func TestFullDisk(t *testing.T) {
	w := newWriting(t)
	limit := func(pages int) error {
		return w.Do("limit", func(tx *Tx) error {
			_, err := tx.Exec(fmt.Sprintf(`PRAGMA max_page_count = %d`, pages))
			return err
		})
	}
	if err := limit(1); err != nil { // that is, its current size
		t.Fatal(err)
	}
	errs := w.together(insert("a"), insert(strings.Repeat("x", 1<<20)), insert("c"))
	if errs[0] != nil || workflow.CodeOf(errs[1]) != workflow.CodeUnavailable || errs[2] != nil {
		t.Errorf("errors %v, want only the second, %s", errs, workflow.CodeUnavailable)
	}
	w.wantNames("a", "c")
	if err := limit(1 << 20); err != nil {
		t.Fatal(err)
	}
	if err := w.Do("insert", insert("d")); err != nil {
		t.Errorf("with room again: %v", err)
	}
}
