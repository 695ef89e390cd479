package core

import (
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/failure"
)

// stampReady notes since when jobs are ready that have timeouts, in workflows in
// which jobs became ready.
func stampReady(tx *Tx) error {
	for _, id := range tx.Changes.Ready {
		_, err := tx.Exec(`UPDATE job SET ready_ms = ?2, first_ready_ms = COALESCE(first_ready_ms, ?2)
			WHERE policy_id IN (SELECT id FROM job_policy WHERE workflow_id = ?1 AND watched = 1)
				AND status = {ready} AND policy_id IS NOT NULL AND told & 1 = 0 AND ready_ms IS NULL`, id, tx.NowMS)
		if err != nil {
			return fmt.Errorf("note since when jobs of workflow %d are ready: %w", id, err)
		}
	}
	return nil
}

// OrderedFor says in the evidence of an attempt that we ended for a timeout that
// this was why. After a silence its allocation is canceled as well, be its runner
// heard again meanwhile.
func (l *LeasedJob) OrderedFor(e *workflow.Evidence) {
	e.EndedBy = nil // it is ours to say
	switch {
	case !l.Canceling || e.KilledBy != workflow.KilledBySibling:
	case l.CancelFor == "":
		e.EndedBy = l.EndedBy
	case l.CancelFor == workflow.TimeoutHeartbeat:
		e.KilledBy, e.Silent = workflow.KilledByDrain, true
		e.Slurm = failure.CanceledByUs(l.CancelFor.String())
	default:
		e.KilledBy, e.Note = workflow.KilledByTimeout, l.CancelFor.String()
	}
}
