package engine

import (
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/view"
)

// presentRunners lists the runners that may have processes of a run, as a JSON
// array. Torc's own cannot be asked.
func presentRunners(tx *core.Tx, workflowID int64) (ids string, err error) {
	err = tx.Row(`SELECT json_group_array(id) FROM compute_node WHERE workflow_id = ? AND is_active = 1 AND runner_key IS NOT NULL`, []any{workflowID}, &ids)
	if err != nil {
		return "", fmt.Errorf("find the runners of workflow %d: %w", workflowID, err)
	}
	return ids, nil
}

// holdRunEnd has the end job of a run that is given up wait for the runners that may
// still end processes of it.
func holdRunEnd(tx *core.Tx, r *view.Run) error {
	if !r.Stages {
		return nil
	}
	runners, err := presentRunners(tx, r.WorkflowID)
	if err != nil {
		return err
	}
	_, err = tx.Exec(`UPDATE stage SET waits_for = ?4 WHERE workflow_id = ?1 AND kind = 'end' AND parent_id IS NULL
		AND (state = 'not_started' OR run_id != ?2 OR generation != ?3)`, r.WorkflowID, r.RunID, r.Generation, runners)
	if err != nil {
		return fmt.Errorf("let the end job of workflow %d wait: %w", r.WorkflowID, err)
	}
	return EveryRunner(tx, r.WorkflowID)
}

// ReleaseRunEnd has the end job of a workflow wait for no runners, as its run is not
// given up any more. It reports whether it did.
func ReleaseRunEnd(tx *core.Tx, workflowID int64) (waited bool, err error) {
	n, err := tx.Exec(`UPDATE stage SET waits_for = NULL WHERE workflow_id = ? AND waits_for IS NOT NULL`, workflowID)
	if err != nil {
		return false, fmt.Errorf("let the end job of workflow %d wait no longer: %w", workflowID, err)
	}
	return n > 0, nil
}

// ConfirmBeforeEnd notes that a runner has no process any more of a run that was
// given up: its end job may have waited for that.
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

// EndWaits reports whether the end job of a run waits for runners that may have
// processes of it, as it was given up.
func EndWaits(tx *core.Tx, r *view.Run) (waits bool, err error) {
	if r.GivenUp == "" || r.Ended || r.Canceled || !r.Stages {
		return false, nil
	}
	err = tx.Row(`SELECT EXISTS (SELECT 1 FROM stage s WHERE s.workflow_id = ? AND s.waits_for IS NOT NULL AND EXISTS (SELECT 1 FROM `+view.AwaitedRunners+`))`,
		[]any{r.WorkflowID}, &waits)
	if err != nil {
		return false, fmt.Errorf("look for processes of workflow %d: %w", r.WorkflowID, err)
	}
	return waits, nil
}
