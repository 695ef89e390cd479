package store

import (
	"cmp"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// Slurm's states of a job or step that somebody has canceled, of one that has
// been put back into the queue, and of one that makes room for others.
const (
	slurmCanceled  = "CANCELLED"
	slurmRequeued  = "REQUEUED"
	slurmPreempted = "PREEMPTED"
)

// explain adds to a report what the daemon knows of the end of the runner's
// allocation and the runner cannot: that it was we who canceled it, and why
// Slurm takes its nodes.
func (c *conversation) explain(rep *Report) error {
	said := rep.Evidence.Slurm
	if said != nil && said.JobState == slurmPreempted {
		return c.taken(said)
	}
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
		ours.CanceledByUs, ours.Reason = true, cmp.Or(ours.Reason, a.CancelWhy)
		rep.Evidence.Slurm = &ours
		return c.unheard(rep)
	case canceled:
	case a.Taken != nil:
		rep.Evidence.Slurm = a.Taken
	case a.CancelSentMS != 0:
		rep.Evidence.Slurm = &workflow.SlurmEvidence{JobState: slurmCanceled, Reason: a.CancelWhy, CanceledByUs: true}
		return c.unheard(rep)
	case a.SupersededMS != 0:
		rep.Evidence.Slurm = &workflow.SlurmEvidence{JobState: slurmRequeued}
	}
	return nil
}

// unheard notes whether the allocation of an attempt was canceled because its
// runner had said nothing for too long.
func (c *conversation) unheard(rep *Report) error {
	jobs, err := c.tx.unheardJobs(c.runner.id)
	rep.Evidence.Silent = jobs[rep.JobID]
	return err
}

// taken stores that a runner knows why Slurm takes its allocation. The runner may
// have left, and Slurm call that a success, before the daemon looks.
func (c *conversation) taken(why *workflow.SlurmEvidence) error {
	a, err := c.allocation()
	if err != nil || a == nil || a.Taken != nil || !a.IsLive() {
		return err
	}
	text, err := json.Marshal(why)
	if err != nil {
		return fmt.Errorf("write why Slurm takes allocation %d: %w", a.ID, err)
	}
	if err := c.tx.execOne(`UPDATE allocation SET taken = ? WHERE id = ? AND taken = ''`, string(text), a.ID); err != nil {
		return fmt.Errorf("note why Slurm takes allocation %d: %w", a.ID, err)
	}
	a.Taken = why
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
