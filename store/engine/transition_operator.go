package engine

import (
	"encoding/json"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// ManageJob sets the status that an operator wants, and voids the job's lease.
func ManageJob(tx *core.Tx, l *core.LeasedJob, to workflow.JobStatus) error {
	if err := core.RequireTransition(workflow.OpManage, l.Status, to); err != nil {
		return err
	}
	var hold, claimedMS, startMS any
	switch to {
	case workflow.PendingFailed:
		text, err := json.Marshal(workflow.Hold{Reason: "an operator changed the job's status", SinceMS: tx.NowMS})
		if err != nil {
			return fmt.Errorf("hold job %d: %w", l.JobID, err)
		}
		hold = string(text)
	case workflow.Pending:
		claimedMS = tx.NowMS
	case workflow.Running:
		claimedMS, startMS = tx.NowMS, tx.NowMS
	}
	err := tx.ExecOne(`UPDATE job SET status = ?1, fence = fence + 1, compute_node_id = NULL, claimed_ms = ?2, start_ms = ?3, not_before_ms = 0,
			phase = 0, recovery = NULL, hold = ?4, skipped_by = NULL, ended_by = NULL, result_id = NULL,
			ready_ms = NULL, first_ready_ms = iif(policy_id IS NULL, NULL, ?2), told = 0,
			attempt_id = 1 + COALESCE((SELECT MAX(a.attempt_id) FROM attempt a JOIN workflow w ON w.id = a.workflow_id AND w.run_id = a.run_id
				WHERE a.job_id = job.id), 0)
		WHERE id = ?5 AND status = ?6`, int(to), claimedMS, startMS, hold, l.JobID, int(l.Status))
	if err != nil {
		return fmt.Errorf("change job %d from %s to %s: %w", l.JobID, l.Status, to, err)
	}
	tx.Move(l.WorkflowID, l.Status, to, 1)
	return nil
}

const resetBehindText = `UPDATE job SET status = {to}, ` + unclaimed + `, start_ms = NULL, result_id = NULL
	WHERE status = {from} AND gate_id IN (SELECT gate_id FROM gate_dependency WHERE job_id = ?) RETURNING id`

var resetBehindStatements = []*core.Transition{
	core.NewTransition(workflow.OpManage, workflow.Completed, workflow.Uninitialized, resetBehindText),
	core.NewTransition(workflow.OpManage, workflow.Failed, workflow.Uninitialized, resetBehindText),
}

// ResetJobsBehind resets the completed and failed jobs that directly depend on a job to
// uninitialized, and returns them.
func ResetJobsBehind(tx *core.Tx, workflowID, job int64) (all []int64, err error) {
	for _, t := range resetBehindStatements {
		ids, err := t.IDs(tx, workflowID, job)
		if err != nil {
			return nil, err
		}
		all = append(all, ids...)
	}
	return all, nil
}

var disableStatement = core.NewTransition(workflow.OpDisable, workflow.Uninitialized, workflow.Disabled,
	`UPDATE job SET status = {to} WHERE id = ? AND status = {from}`)

// DisableJob excludes an uninitialized job from its workflow's runs.
func DisableJob(tx *core.Tx, workflowID, job int64) error {
	return disableStatement.All(tx, workflowID, 1, job)
}

// cancelChosen cancels jobs that are not complete, whatever they were, and records by whom.
// The runners of live ones are to be told that their leases are void.
func cancelChosen(tx *core.Tx, workflowID int64, ids, by string) (int64, error) {
	return core.MoveJobs(tx, workflow.OpCancel, workflowID, workflow.Canceled,
		`fence = fence + 1, cancel_fence = fence + 1, cancel_for = NULL, ended_by = ?4, skipped_by = NULL, not_before_ms = 0, `+decided+`, `+notReady,
		`?4 IS NOT NULL AND id IN (SELECT value FROM json_each(?3))`, ids, by)
}
