package core

import (
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/failure"
)

// stampReady records since when jobs with timeouts have been ready, in workflows with newly
// ready jobs.
func stampReady(tx *Tx) error {
	for _, id := range tx.Changes.Ready {
		_, err := tx.Exec(`UPDATE job SET ready_ms = ?2, first_ready_ms = COALESCE(first_ready_ms, ?2)
			WHERE policy_id IN (SELECT id FROM job_policy WHERE workflow_id = ?1 AND watched = 1)
				AND status = {ready} AND policy_id IS NOT NULL AND told & 1 = 0 AND ready_ms IS NULL`, id, tx.NowMS)
		if err != nil {
			return fmt.Errorf("record since when jobs of workflow %d are ready: %w", id, err)
		}
	}
	return nil
}

// ForPause is the CancelFor of attempts that are ended because their workflow was paused.
const ForPause workflow.Timeout = "pause"

// OrderedFor adds to the evidence of an attempt the timeout for which we ended it, or the pause. After a
// heartbeat timeout the allocation is canceled too, even if its runner is heard of again.
func (l *LeasedJob) OrderedFor(e *workflow.Evidence) {
	e.EndedBy = nil // only the daemon sets it
	switch {
	case !l.Canceling || e.KilledBy != workflow.KilledBySibling:
	case l.CancelFor == "":
		e.EndedBy = l.EndedBy
	case l.CancelFor == ForPause:
		e.KilledBy = workflow.KilledByPause
	case l.CancelFor == workflow.TimeoutHeartbeat:
		e.KilledBy, e.Silent = workflow.KilledByDrain, true
		e.Slurm = failure.CanceledByUs(l.CancelFor.String())
	default:
		e.KilledBy, e.Note = workflow.KilledByTimeout, l.CancelFor.String()
	}
}
