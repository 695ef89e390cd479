// Package core has the transaction of a use case and what all use cases share: caches,
// counts of jobs per status, the event log, and the statements that change a job's status.
package core

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/audit"
)

// Tx is the transaction of one use case. It belongs to the writer's goroutine and must not
// be used after the use case has returned.
type Tx struct {
	*sqlite.Tx
	Shared  *Shared
	User    string     // who asked for it; empty if nobody did
	Door    audit.Door // by which it came in
	counts  map[statusCount]int64
	causes  map[causeKey]causeCount
	events  []loggedEvent // not yet written, in order
	Changes Changes
	Failed  []int64 // workflows whose number of failed jobs changed
	// GivingUp is the workflow whose run is about to be aborted; 0: none.
	GivingUp int64
}

type statusCount struct {
	workflowID int64
	status     workflow.JobStatus
}

// Count records that n jobs of a workflow entered (or, if negative, left) a status. The
// table is updated once, at the end of the use case.
func (tx *Tx) Count(workflowID int64, status workflow.JobStatus, n int64) {
	if tx.counts == nil {
		tx.counts = map[statusCount]int64{}
	}
	tx.counts[statusCount{workflowID, status}] += n
	switch {
	case status == workflow.Ready && n > 0:
		tx.Ready(workflowID)
	case status == workflow.Failed, status == workflow.Terminated:
		tx.Failed = AppendNew(tx.Failed, []int64{workflowID})
	}
}

// Move records that n jobs of a workflow changed their status.
func (tx *Tx) Move(workflowID int64, from, to workflow.JobStatus, n int64) {
	tx.Count(workflowID, from, -n)
	tx.Count(workflowID, to, n)
}

// Ready records that a workflow has new work for runners.
func (tx *Tx) Ready(workflowID int64) {
	if !slices.Contains(tx.Changes.Ready, workflowID) {
		tx.Changes.Ready = append(tx.Changes.Ready, workflowID)
	}
}

// After returns the time, in ms, at which a delay has certainly passed; 0 without delay.
func (tx *Tx) After(delay time.Duration) int64 {
	if delay <= 0 {
		return 0
	}
	return tx.NowMS + (delay + time.Millisecond - 1).Milliseconds()
}

// Delayed records when a job becomes claimable.
func (tx *Tx) Delayed(atMS int64) {
	if c := &tx.Changes; c.NotBefore == 0 || atMS < c.NotBefore {
		c.NotBefore = atMS
	}
}

// Flush writes what was collected.
func (tx *Tx) Flush() error {
	if err := ReviewFailed(tx, nil); err != nil {
		return err
	}
	if err := stampReady(tx); err != nil {
		return err
	}
	if err := tx.FlushEvents(); err != nil {
		return err
	}
	if err := tx.FlushCauses(); err != nil {
		return err
	}
	return tx.flushCounts()
}

// flushCounts updates the numbers of jobs per status.
func (tx *Tx) flushCounts() error {
	for k, n := range tx.counts {
		if err := tx.addCount(k, n); err != nil {
			return fmt.Errorf("count %d %s jobs of workflow %d: %w", n, k.status, k.workflowID, err)
		}
	}
	tx.counts = nil
	return nil
}

// addCount adds n to a row of job_count. Negative numbers need an UPDATE: with an INSERT,
// SQLite would check the constraint before it sees the conflict.
func (tx *Tx) addCount(k statusCount, n int64) error {
	switch {
	case n < 0:
		return tx.ExecOne(`UPDATE job_count SET n = n + ? WHERE workflow_id = ? AND status = ?`, n, k.workflowID, int(k.status))
	case n > 0:
		_, err := tx.Exec(`INSERT INTO job_count (workflow_id, status, n) VALUES (?1, ?2, ?3)
			ON CONFLICT (workflow_id, status) DO UPDATE SET n = n + ?3`, k.workflowID, int(k.status), n)
		return err
	}
	return nil
}

// merge adds the changes of another use case of the same commit.
func (c *Changes) merge(o *Changes) {
	c.Ready = AppendNew(c.Ready, o.Ready)
	c.Ended = AppendNew(c.Ended, o.Ended)
	c.Runners = AppendNew(c.Runners, o.Runners)
	for id, seq := range o.Events {
		if c.Events == nil {
			c.Events = map[int64]int64{}
		}
		c.Events[id] = max(c.Events[id], seq)
	}
	c.Cancels = c.Cancels || o.Cancels
	c.Allocations = c.Allocations || o.Allocations
	c.Notifications = c.Notifications || o.Notifications
	if o.NotBefore != 0 && (c.NotBefore == 0 || o.NotBefore < c.NotBefore) {
		c.NotBefore = o.NotBefore
	}
}

// AppendNew appends values that are not in the list.
func AppendNew[T comparable](to, from []T) []T {
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

// Savepoint runs fn. If it fails, only its own changes are undone.
func (tx *Tx) Savepoint(fn func() error) error {
	before := *tx
	before.counts, before.causes = maps.Clone(tx.counts), maps.Clone(tx.causes)
	before.Changes.Events = maps.Clone(tx.Changes.Events)
	err := tx.Part(fn)
	if err != nil {
		*tx = before
	}
	return err
}

// Try runs fn and undoes its changes, whether it fails or not. It returns its error.
func (tx *Tx) Try(fn func() error) error {
	tried := errors.New("tried")
	err := tx.Savepoint(func() error {
		if err := fn(); err != nil {
			return err
		}
		return tried
	})
	tx.Shared.Forget() // what fn read may be cached
	if err == tried {  //nolint:errorlint // an error of fn is another one
		return nil
	}
	return err
}

// Changes is what a commit made visible to others.
type Changes struct {
	// Ready lists workflows with newly claimable jobs.
	Ready []int64
	// Events has the last event seq of each workflow with new events.
	Events map[int64]int64
	// Ended lists workflows whose run has ended or was canceled.
	Ended []int64
	// Runners lists runners whose leases or orders changed.
	Runners []int64
	// Cancels says that allocations are to be canceled.
	Cancels bool
	// Allocations says that allocations were requested, started or ended.
	Allocations bool
	// NotBefore is the earliest time, in ms, at which a delayed job becomes claimable; 0 if
	// no job was delayed.
	NotBefore int64
	// Notifications says that notifications are due.
	Notifications bool
}
