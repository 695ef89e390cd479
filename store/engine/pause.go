package engine

import (
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/view"
)

// EndForPause makes the runners of a paused run end the jobs that they hold, with the grace
// time: a job that does not complete within it is repeated, which uses no retry. It returns
// how many there are. The end job, compensations and recovery scripts continue, and so do
// the jobs of torc's own runners, which cannot be told.
func EndForPause(tx *core.Tx, r *view.Run) (int64, error) {
	const held = `compute_node_id IN (SELECT id FROM compute_node WHERE workflow_id = ?1 AND runner_key IS NOT NULL)
		AND status IN {live} AND (status = {running} OR phase = 0) AND cancel_fence != fence AND ` + ofTheRun
	runners, err := core.IDsOf(tx, `SELECT DISTINCT compute_node_id FROM job WHERE `+held, r.WorkflowID)
	if err != nil {
		return 0, fmt.Errorf("find the runners of workflow %d: %w", r.WorkflowID, err)
	}
	n, err := tx.Exec(`UPDATE job SET cancel_fence = fence, cancel_for = ?2, ended_by = NULL WHERE `+held, r.WorkflowID, string(core.ForPause))
	if err != nil {
		return 0, fmt.Errorf("end the jobs of workflow %d: %w", r.WorkflowID, err)
	}
	tx.Changes.Runners = core.AppendNew(tx.Changes.Runners, runners)
	return n, nil
}
