package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// Tx is the transaction of one use case. It belongs to the writer's goroutine
// and must not be used after the use case has returned.
type Tx struct {
	w       *writer
	nowMS   int64
	counts  map[statusCount]int64
	causes  map[causeKey]causeCount
	events  []loggedEvent // not written yet, in order
	changes Changes
	failed  []int64   // workflows in which the number of failed jobs changed
	rows    *sql.Rows // of the latest query
	kept    bool      // it has read something that the writer keeps
	// givingUp is a workflow whose run is about to be given up; 0: there is none.
	givingUp int64
}

type statusCount struct {
	workflowID int64
	status     workflow.JobStatus
}

// Now is the time of the use case in milliseconds since the epoch.
func (tx *Tx) Now() int64 { return tx.nowMS }

// exec runs a statement and returns how many rows it changed.
func (tx *Tx) exec(query string, args ...any) (int64, error) {
	res, err := tx.result(query, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// insert runs an INSERT and returns the new row's id.
func (tx *Tx) insert(query string, args ...any) (int64, error) {
	res, err := tx.result(query, args...)
	if err != nil {
		return 0, err
	}
	return res.LastInsertId()
}

func (tx *Tx) result(query string, args ...any) (sql.Result, error) {
	s, err := tx.stmt(query)
	if err != nil {
		return nil, err
	}
	return s.ExecContext(context.Background(), args...)
}

// execOne runs a statement that must change exactly one row; otherwise it
// returns errNoRow.
func (tx *Tx) execOne(query string, args ...any) error {
	n, err := tx.exec(query, args...)
	if err != nil {
		return err
	}
	if n != 1 {
		return fmt.Errorf("%w: %d rows changed", errNoRow, n)
	}
	return nil
}

// errNoRow says that an update found no row in the state that it expected.
var errNoRow = errors.New("no such row in the expected state")

// query runs a SELECT. All rows must be read before the next statement.
func (tx *Tx) query(query string, args ...any) (*sql.Rows, error) {
	s, err := tx.stmt(query)
	if err != nil {
		return nil, err
	}
	tx.rows, err = s.QueryContext(context.Background(), args...)
	return tx.rows, err
}

// errOpenRows says that a use case runs a statement while it reads the rows of
// another: the same statement would begin anew, and a change of what is being
// read has no defined outcome.
var errOpenRows = errors.New("rows of a query are still being read")

// stmt returns the prepared statement for a query.
func (tx *Tx) stmt(query string) (*sql.Stmt, error) {
	if tx.closeRows() {
		return nil, fmt.Errorf("%w at %q", errOpenRows, query)
	}
	return tx.w.stmt(query)
}

// closeRows closes the rows of the latest query and reports whether they had
// been left open.
func (tx *Tx) closeRows() (wereOpen bool) {
	if tx.rows == nil {
		return false
	}
	_, err := tx.rows.Columns() // fails when they are closed
	tx.rows.Close()
	tx.rows = nil
	return err == nil
}

// row runs a SELECT of one row into dest; sql.ErrNoRows if there is none.
func (tx *Tx) row(query string, args []any, dest ...any) error {
	s, err := tx.stmt(query)
	if err != nil {
		return err
	}
	return s.QueryRowContext(context.Background(), args...).Scan(dest...)
}

// count notes that n jobs of a workflow entered (or, negative, left) a status.
// The table is brought up to date once, at the end of the use case.
func (tx *Tx) count(workflowID int64, status workflow.JobStatus, n int64) {
	if tx.counts == nil {
		tx.counts = map[statusCount]int64{}
	}
	tx.counts[statusCount{workflowID, status}] += n
	switch {
	case status == workflow.Ready && n > 0:
		tx.ready(workflowID)
	case status == workflow.Failed, status == workflow.Terminated:
		tx.failed = appendNew(tx.failed, []int64{workflowID})
	}
}

// move notes that n jobs of a workflow changed their status.
func (tx *Tx) move(workflowID int64, from, to workflow.JobStatus, n int64) {
	tx.count(workflowID, from, -n)
	tx.count(workflowID, to, n)
}

// ready notes that a workflow has new work for runners.
func (tx *Tx) ready(workflowID int64) {
	if !slices.Contains(tx.changes.Ready, workflowID) {
		tx.changes.Ready = append(tx.changes.Ready, workflowID)
	}
}

// flush writes what was collected.
func (tx *Tx) flush() error {
	if err := tx.reviewFailed(nil); err != nil {
		return err
	}
	if err := tx.stampReady(); err != nil {
		return err
	}
	if err := tx.flushEvents(); err != nil {
		return err
	}
	if err := tx.flushCauses(); err != nil {
		return err
	}
	return tx.flushCounts()
}

// flushCounts brings the numbers of jobs per status up to date.
func (tx *Tx) flushCounts() error {
	for k, n := range tx.counts {
		if err := tx.addCount(k, n); err != nil {
			return fmt.Errorf("count %d %s jobs of workflow %d: %w", n, k.status, k.workflowID, err)
		}
	}
	tx.counts = nil
	return nil
}

// addCount adds n to a row of job_count. A negative number is only ever taken
// from a row that is there: SQLite would check it before it sees the conflict.
func (tx *Tx) addCount(k statusCount, n int64) error {
	switch {
	case n < 0:
		return tx.execOne(`UPDATE job_count SET n = n + ? WHERE workflow_id = ? AND status = ?`, n, k.workflowID, int(k.status))
	case n > 0:
		_, err := tx.exec(`INSERT INTO job_count (workflow_id, status, n) VALUES (?1, ?2, ?3)
			ON CONFLICT (workflow_id, status) DO UPDATE SET n = n + ?3`, k.workflowID, int(k.status), n)
		return err
	}
	return nil
}

// changesOf merges what the use cases of a group changed.
func changesOf(group []*useCase) Changes {
	var all Changes
	for _, u := range group {
		if u.err != nil || u.tx == nil {
			continue
		}
		c := u.tx.changes
		all.Ready = appendNew(all.Ready, c.Ready)
		all.Ended = appendNew(all.Ended, c.Ended)
		all.Runners = appendNew(all.Runners, c.Runners)
		for id, seq := range c.Events {
			if all.Events == nil {
				all.Events = map[int64]int64{}
			}
			all.Events[id] = max(all.Events[id], seq)
		}
		all.Cancels = all.Cancels || c.Cancels
		all.Allocations = all.Allocations || c.Allocations
		all.Notifications = all.Notifications || c.Notifications
		if c.NotBefore != 0 && (all.NotBefore == 0 || c.NotBefore < all.NotBefore) {
			all.NotBefore = c.NotBefore
		}
	}
	return all
}

func appendNew[T comparable](to, from []T) []T {
	for _, id := range from {
		if !slices.Contains(to, id) {
			to = append(to, id)
		}
	}
	return to
}

func (c *Changes) empty() bool {
	return len(c.Ready)+len(c.Ended)+len(c.Runners)+len(c.Events) == 0 && c.NotBefore == 0 && !c.Cancels && !c.Allocations && !c.Notifications
}
