package engine

import (
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
)

// presentRunners returns, as a JSON array, the runners that may have processes of a run;
// not torc's own, which cannot be asked.
func presentRunners(tx *core.Tx, workflowID int64) (ids string, err error) {
	err = tx.Row(`SELECT json_group_array(id) FROM compute_node WHERE workflow_id = ? AND is_active = 1 AND runner_key IS NOT NULL`, []any{workflowID}, &ids)
	return ids, sqlite.Wrap(err, "find the runners of workflow %d", workflowID)
}

// awaitRunners makes the end job of an aborted run wait for the runners that may still be
// ending its processes. It reports whether one has to be awaited. They are asked when all
// other jobs are complete, since a job that is repeated after the abort has processes too.
func awaitRunners(tx *core.Tx, r *view.Run) (waits bool, err error) {
	if r.GivenUp == "" {
		return false, nil
	}
	runners, err := presentRunners(tx, r.WorkflowID)
	if err != nil {
		return false, err
	}
	n, err := tx.Exec(`UPDATE stage SET waits_for = ? WHERE workflow_id = ? AND kind = 'end' AND parent_id IS NULL AND state = 'not_started' AND waits_for IS NULL`,
		runners, r.WorkflowID)
	if err != nil {
		return false, fmt.Errorf("delay the end job of workflow %d: %w", r.WorkflowID, err)
	}
	if n > 0 {
		if err := NotifyRunners(tx, r.WorkflowID); err != nil {
			return false, err
		}
	}
	return EndWaits(tx, r)
}

// ReleaseRunEnd stops the end job of a workflow from waiting for runners: its run is no
// longer aborted, or jobs are open again. It reports whether the job waited.
func ReleaseRunEnd(tx *core.Tx, workflowID int64) (waited bool, err error) {
	n, err := tx.Exec(`UPDATE stage SET waits_for = NULL WHERE workflow_id = ? AND waits_for IS NOT NULL`, workflowID)
	if err != nil {
		return false, fmt.Errorf("release the end job of workflow %d: %w", workflowID, err)
	}
	return n > 0, nil
}

// ConfirmBeforeEnd records that a runner has no process of an aborted run any more. The end
// job may have waited for that.
func ConfirmBeforeEnd(tx *core.Tx, r *view.Run, runner int64) error {
	n, err := tx.Exec(`UPDATE stage SET waits_for = (SELECT json_group_array(value) FROM json_each(waits_for) WHERE value != ?2)
		WHERE workflow_id = ?1 AND waits_for IS NOT NULL AND EXISTS (SELECT 1 FROM json_each(waits_for) WHERE value = ?2)`, r.WorkflowID, runner)
	if err != nil {
		return fmt.Errorf("note that runner %d has no process of workflow %d: %w", runner, r.WorkflowID, err)
	}
	if n == 0 {
		return nil
	}
	return EndIfOver(tx, r.WorkflowID)
}

// EndWaits reports whether the end job of an aborted run waits for runners that may have
// processes of it.
func EndWaits(tx *core.Tx, r *view.Run) (waits bool, err error) {
	if r.GivenUp == "" || r.Ended || r.Canceled || !r.Stages {
		return false, nil
	}
	err = tx.Row(`SELECT EXISTS (SELECT 1 FROM stage s WHERE s.workflow_id = ? AND s.waits_for IS NOT NULL AND EXISTS (SELECT 1 FROM `+view.AwaitedRunners+`))`,
		[]any{r.WorkflowID}, &waits)
	return waits, sqlite.Wrap(err, "check for processes of workflow %d", r.WorkflowID)
}
