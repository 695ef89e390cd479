package store

import (
	"database/sql"
	"errors"
	"fmt"
)

// slurmCanceled is Slurm's state of a job or step that somebody has canceled.
const slurmCanceled = "CANCELLED"

// knowOwnCancel marks the evidence of a report as ours if Slurm says that the
// runner's allocation was canceled and it was the daemon that did it: a runner
// cannot know.
func (c *conversation) knowOwnCancel(rep *Report) error {
	s := rep.Evidence.Slurm
	if s == nil || s.JobState != slurmCanceled && s.StepState != slurmCanceled {
		return nil
	}
	var canceled bool
	err := c.tx.row(`SELECT a.cancel_ms != 0 FROM compute_node n JOIN allocation a ON a.id = n.allocation_id WHERE n.id = ?`,
		[]any{c.runner.id}, &canceled)
	if errors.Is(err, sql.ErrNoRows) {
		return nil // in no allocation of ours
	}
	if err != nil {
		return fmt.Errorf("look who canceled the allocation of runner %d: %w", c.runner.id, err)
	}
	if canceled {
		ours := *s // the caller's is not to change
		ours.CanceledByUs = true
		rep.Evidence.Slurm = &ours
	}
	return nil
}
