package store

import (
	"cmp"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// LeaseRef names a lease: a runner's right to an attempt.
type LeaseRef struct {
	JobID   int64
	Attempt int64
	Fence   int64
}

// Held is a lease that a runner says it has.
type Held struct {
	LeaseRef
	StartedMS int64 // when its process was spawned; 0 while it was not
	Ending    bool  // the runner is ending it
}

// lease is a job that somebody holds, as its row says.
type lease struct {
	LeaseRef
	workflowID int64
	runnerID   sql.NullInt64
	status     workflow.JobStatus
	recovering bool
	canceling  bool              // its runner is to end it
	cancelFor  workflow.Timeout  // the timeout that it is ended for; empty: a sibling failed
	endedBy    *workflow.Culprit // that sibling
	doom       string            // why it has failed whatever the rules say; empty: they decide
	isStage    bool              // a sub-workflow job: nobody holds it
	startMS    sql.NullInt64
	classID    int64
	name       string

	// What a turn said of it.
	said  bool          // listed, reported or given back
	ended *ReportResult // the answer to its report
}

const leaseColumns = `id, workflow_id, attempt_id, fence, compute_node_id, status, phase, cancel_fence > 0 AND cancel_fence = fence, COALESCE(cancel_for, ''),
	child_id IS NOT NULL, start_ms, class_id, name, iif(cancel_fence = fence AND cancel_for IS NULL, ended_by, NULL)`

func scanLease(r rowScanner) (l lease, err error) {
	var endedBy sql.NullString
	err = r.Scan(&l.JobID, &l.workflowID, &l.Attempt, &l.Fence, &l.runnerID, &l.status, &l.recovering, &l.canceling, &l.cancelFor,
		&l.isStage, &l.startMS, &l.classID, &l.name, &endedBy)
	if err == nil && l.canceling && l.cancelFor == "" {
		if l.endedBy, err = readCulprit(endedBy); err == nil {
			l.doom = l.endedBy.Doom()
		}
	}
	return l, err
}

// readCulprit reads for which job one is ended; nil if nobody wrote it down.
func readCulprit(text sql.NullString) (*workflow.Culprit, error) {
	if !text.Valid {
		return nil, nil
	}
	c := &workflow.Culprit{}
	if err := json.Unmarshal([]byte(text.String), c); err != nil {
		return nil, fmt.Errorf("read for which job one is ended: %w", err)
	}
	return c, nil
}

// leases are the leases of one runner, by job.
type leases []lease

// leases reads what a runner holds.
func (tx *Tx) leases(runnerID int64) (leases, error) {
	rows, err := tx.query(`SELECT `+leaseColumns+` FROM job WHERE compute_node_id = ? AND status IN (3, 4) ORDER BY id`, runnerID)
	if err != nil {
		return nil, fmt.Errorf("read the leases of runner %d: %w", runnerID, err)
	}
	all, err := collect(rows, scanLease)
	if err != nil {
		return nil, fmt.Errorf("read the leases of runner %d: %w", runnerID, err)
	}
	return all, nil
}

// of returns the lease of a job, nil if there is none.
func (ls leases) of(job int64) *lease {
	i, found := slices.BinarySearchFunc(ls, job, func(l lease, id int64) int { return cmp.Compare(l.JobID, id) })
	if !found {
		return nil
	}
	return &ls[i]
}

// start notes that the processes of leases run since the given times.
func (tx *Tx) start(r *run, ls []*lease, startMS []int64) error {
	for i, l := range ls {
		err := tx.execOne(`UPDATE job SET status = 4, start_ms = ? WHERE id = ? AND status = 3`, startMS[i], l.JobID)
		if err != nil {
			return fmt.Errorf("start job %d: %w", l.JobID, err)
		}
		l.status, l.startMS = workflow.Running, sql.NullInt64{Int64: startMS[i], Valid: true}
		if err := tx.announceStart(r, l); err != nil {
			return err
		}
	}
	tx.move(r.workflowID, workflow.Pending, workflow.Running, int64(len(ls)))
	return nil
}

// announceStart writes the event that an attempt was started.
func (tx *Tx) announceStart(r *run, l *lease) error {
	return tx.event(r.workflowID, string(workflow.EventJobStarted), workflow.SeverityInfo, workflow.JobStartedPayload{
		JobID: l.JobID, JobName: l.name, ComputeNodeID: l.runnerID.Int64, RunID: r.runID, AttemptID: l.Attempt,
	})
}

// notStarted notes that a lease that was said to be started is not: it was no
// attempt, and may become one.
func (tx *Tx) notStarted(r *run, l *lease) error {
	if err := tx.execOne(`UPDATE job SET status = 3, start_ms = NULL WHERE id = ? AND status = 4`, l.JobID); err != nil {
		return fmt.Errorf("take back the start of job %d: %w", l.JobID, err)
	}
	l.status, l.startMS = workflow.Pending, sql.NullInt64{}
	tx.move(r.workflowID, workflow.Running, workflow.Pending, 1)
	return tx.event(r.workflowID, string(workflow.EventJobNotStarted), workflow.SeverityWarning, workflow.JobStartedPayload{
		JobID: l.JobID, JobName: l.name, ComputeNodeID: l.runnerID.Int64, RunID: r.runID, AttemptID: l.Attempt,
	})
}

// giveBack makes claimed jobs ready again that nobody has started; those that
// were to be ended are canceled. It was no attempt.
func (tx *Tx) giveBack(r *run, ls []*lease) error {
	var ids []int64
	var canceled []*lease
	for _, l := range ls {
		if l.canceling && l.cancelFor == "" { // what has no time left is expired when it is ready
			canceled = append(canceled, l)
			continue
		}
		ids = append(ids, l.JobID)
		l.status = workflow.Ready
	}
	if err := tx.cancelClaimed(r, canceled); err != nil || len(ids) == 0 {
		return err
	}
	n, err := tx.exec(`UPDATE job SET status = 2, compute_node_id = NULL, claimed_ms = NULL, told = iif(cancel_for IS NULL, told, told & 7), cancel_for = NULL
		WHERE id IN (SELECT value FROM json_each(?)) AND status = 3 AND phase = 0`, idList(ids))
	if err == nil && n != int64(len(ids)) {
		err = fmt.Errorf("%w: %d of %d", errNoRow, n, len(ids))
	}
	if err != nil {
		return fmt.Errorf("give back %d jobs of workflow %d: %w", len(ids), r.workflowID, err)
	}
	tx.move(r.workflowID, workflow.Pending, workflow.Ready, n)
	return tx.waitAgain(r.workflowID, ids)
}
