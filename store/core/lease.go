package core

import (
	"cmp"
	"database/sql"
	"slices"

	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
	"github.com/torc-slurm/torc-slurm/workflow/retry"
)

// LeasedJob is a job with its lease.
type LeasedJob struct {
	lease.LeaseRef
	WorkflowID int64
	RunnerID   sql.NullInt64
	Status     workflow.JobStatus
	Recovering bool
	Canceling  bool              // its runner has to end it
	CancelFor  workflow.Timeout  // the timeout, or ForPause, because of which it is ended; empty: a sibling failed, or a user canceled it
	EndedBy    *workflow.Culprit // that sibling
	Doom       retry.Doom        // why it fails whatever the rules say
	IsStage    bool              // a sub-workflow job, which no runner holds
	StartMS    sql.NullInt64
	ClassID    int64
	Name       string

	// What a turn reported.
	Said  bool                // listed, reported or given back
	Ended *lease.ReportResult // the answer to its report
}

// LeaseColumns are the columns of a job that ScanLease reads.
const LeaseColumns = `id, workflow_id, attempt_id, fence, compute_node_id, status, phase, cancel_fence > 0 AND cancel_fence = fence, COALESCE(cancel_for, ''),
	child_id IS NOT NULL, start_ms, class_id, name, iif(cancel_fence = fence AND cancel_for IS NULL, ended_by, NULL)`

// ScanLease reads a row of LeaseColumns.
func ScanLease(r sqlite.Scanner) (l LeasedJob, err error) {
	var endedBy sql.NullString
	err = r.Scan(&l.JobID, &l.WorkflowID, &l.Attempt, &l.Fence, &l.RunnerID, &l.Status, &l.Recovering, &l.Canceling, &l.CancelFor,
		&l.IsStage, &l.StartMS, &l.ClassID, &l.Name, &endedBy)
	if err == nil && l.Canceling && l.CancelFor == "" {
		if l.EndedBy, err = view.ReadCulprit(endedBy); err == nil {
			l.Doom.Reason = l.EndedBy.EndingReason()
		}
	}
	return l, err
}

// Leases are the leases of one runner, by job.
type Leases []LeasedJob

// LoadLeases returns the leases of a runner.
func LoadLeases(tx *Tx, runnerID int64) (Leases, error) {
	all, err := sqlite.Select(tx, ScanLease, `SELECT `+LeaseColumns+` FROM job WHERE compute_node_id = ? AND status IN {live} ORDER BY id`, runnerID)
	return all, sqlite.Wrap(err, "read the leases of runner %d", runnerID)
}

// Of returns the lease of a job; nil if there is none.
func (ls Leases) Of(job int64) *LeasedJob {
	i, found := slices.BinarySearchFunc(ls, job, func(l LeasedJob, id int64) int { return cmp.Compare(l.JobID, id) })
	if !found {
		return nil
	}
	return &ls[i]
}
