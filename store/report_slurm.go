package store

import (
	"database/sql"
	"errors"
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// Slurm's states of a job or step that somebody has canceled, and of one that
// has been put back into the queue.
const (
	slurmCanceled = "CANCELLED"
	slurmRequeued = "REQUEUED"
)

// explain adds to a report what the daemon knows of the end of the runner's
// allocation and the runner cannot: that it was we who canceled it, and why
// Slurm takes its nodes.
func (c *conversation) explain(rep *Report) error {
	said := rep.Evidence.Slurm
	canceled := said != nil && (said.JobState == slurmCanceled || said.StepState == slurmCanceled)
	if !canceled && (said != nil || !rep.Evidence.Interrupted()) {
		return nil
	}
	a, err := c.allocation()
	if err != nil || a == nil {
		return err
	}
	switch {
	case canceled && a.CancelMS != 0:
		ours := *said // the caller's is not to change
		ours.CanceledByUs = true
		rep.Evidence.Slurm = &ours
	case canceled:
	case a.Taken != nil:
		rep.Evidence.Slurm = a.Taken
	case a.CancelSentMS != 0:
		rep.Evidence.Slurm = &workflow.SlurmEvidence{JobState: slurmCanceled, Reason: a.CancelWhy, CanceledByUs: true}
	case a.SupersededMS != 0:
		rep.Evidence.Slurm = &workflow.SlurmEvidence{JobState: slurmRequeued}
	}
	return nil
}

// allocation returns the one of ours that the runner lives in, nil if it lives
// in none.
func (c *conversation) allocation() (*workflow.Allocation, error) {
	if c.inAllocation != nil {
		return c.inAllocation, nil
	}
	stmt, err := c.tx.stmt(`SELECT ` + allocationColumns + ` FROM allocation WHERE id = (SELECT allocation_id FROM compute_node WHERE id = ?)`)
	if err != nil {
		return nil, err
	}
	a, err := scanAllocation(stmt.QueryRow(c.runner.id))
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read the allocation of runner %d: %w", c.runner.id, err)
	}
	c.inAllocation = &a
	return &a, nil
}
