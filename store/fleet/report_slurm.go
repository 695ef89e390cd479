package fleet

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/engine"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/failure"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// explain adds to a report what only the daemon knows about the end of the allocation: that
// we canceled it, and that Slurm preempted it.
func (c *Conversation) explain(rep *lease.Report) error {
	if said := rep.Evidence.Slurm; failure.Preempting(said) {
		return c.recordPreemption(said)
	}
	if !failure.NeedsAllocation(&rep.Evidence) {
		return nil
	}
	a, err := c.allocation()
	if err != nil || a == nil {
		return err
	}
	said, ours := failure.Combine(&rep.Evidence, a)
	if rep.Evidence.Slurm = said; ours {
		return c.recordSilence(rep)
	}
	return nil
}

// recordSilence records whether the allocation of an attempt was canceled because its runner was
// silent for too long.
func (c *Conversation) recordSilence(rep *lease.Report) error {
	jobs, err := engine.SilentJobs(c.tx, c.runner.ID)
	rep.Evidence.Silent = jobs[rep.JobID]
	return err
}

// recordPreemption stores that a runner knows of the preemption of its allocation. By the
// time the daemon polls, the runner may have left, and Slurm may report success.
func (c *Conversation) recordPreemption(why *workflow.SlurmEvidence) error {
	a, err := c.allocation()
	if err != nil || a == nil || a.NodeLoss != nil || !a.IsLive() {
		return err
	}
	text, err := json.Marshal(why)
	if err != nil {
		return fmt.Errorf("write the preemption of allocation %d: %w", a.ID, err)
	}
	if err := c.tx.ExecOne(`UPDATE allocation SET taken = ? WHERE id = ? AND taken = ''`, string(text), a.ID); err != nil {
		return fmt.Errorf("record the preemption of allocation %d: %w", a.ID, err)
	}
	a.NodeLoss = why
	return nil
}

// allocation returns the runner's allocation; nil if it is in none of ours.
func (c *Conversation) allocation() (*compute.Allocation, error) {
	if c.inAllocation != nil {
		return c.inAllocation, nil
	}
	stmt, err := c.tx.Stmt(`SELECT ` + view.AllocationColumns + ` FROM allocation WHERE id = (SELECT allocation_id FROM compute_node WHERE id = ?)`)
	if err != nil {
		return nil, err
	}
	a, err := view.ScanAllocation(stmt.QueryRow(c.runner.ID))
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read the allocation of runner %d: %w", c.runner.ID, err)
	}
	c.inAllocation = &a
	return &a, nil
}
