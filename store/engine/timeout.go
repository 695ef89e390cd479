package engine

import (
	"cmp"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/retry"
)

// doomOf returns why a job ends whatever the rules say: because of a timeout, or of another
// job; the zero value if it does not.
func doomOf(f *Finisher, l *core.LeasedJob) (retry.Doom, error) {
	if !l.Canceling || l.CancelFor == "" || l.CancelFor == core.ForPause {
		return l.Doom, nil
	}
	var p workflow.JobPolicy
	err := view.PolicySource{Row: f.tx.Row}.JSON(&p, `SELECT p.policy FROM job j JOIN job_policy p ON p.id = j.policy_id WHERE j.id = ?`, l.JobID)
	if err != nil {
		return l.Doom, fmt.Errorf("read the timeouts of job %d: %w", l.JobID, err)
	}
	limit := p.Timeouts.Limit(l.CancelFor)
	if limit == nil {
		return l.Doom, nil
	}
	d := retry.DoomOf(l.CancelFor, limit)
	d.Run = cmp.Or(d.Run, l.Doom.Run)
	return d, nil
}
