package store

import (
	"context"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/engine"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// ProposeRetryAnew returns the job as RetryAnew would leave it, or its error, and changes
// nothing.
func (s Jobs) ProposeRetryAnew(_ context.Context, id, runID, maxRetries int64) (workflow.Job, error) {
	return s.propose(id, func(tx *core.Tx) error {
		l, r, err := jobOfRun(tx, id, runID)
		if err != nil {
			return err
		}
		return retryJob(tx, &l, r, maxRetries, true)
	})
}

// ProposeStatusChange returns the job as ManageStatusChange would leave it, or its error,
// and changes nothing.
func (s Jobs) ProposeStatusChange(_ context.Context, id int64, to workflow.JobStatus, runID int64) (workflow.Job, error) {
	return s.propose(id, func(tx *core.Tx) error { return changeStatus(tx, id, to, runID) })
}

// propose changes a job, reads it, and rolls back.
func (s Jobs) propose(id int64, change func(*core.Tx) error) (j workflow.Job, err error) {
	err = s.shared.Propose("propose a change of a job", func(tx *core.Tx) (err error) {
		if err := change(tx); err != nil {
			return err
		}
		j, err = engine.GetJob(tx, id)
		return err
	})
	return j, err
}
