package engine

import (
	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// runStageJob makes a sub-workflow job with a given status running, without a lease.
func runStageJob(tx *core.Tx, r *view.Run, job int64, from workflow.JobStatus) error {
	if err := core.RequireTransition(workflow.OpStage, from, workflow.Running); err != nil {
		return err
	}
	err := tx.ExecOne(`UPDATE job SET status = {running}, fence = fence + 1, `+unclaimed+`, start_ms = ?, not_before_ms = 0,
			skipped_by = NULL, ended_by = NULL, result_id = NULL, attempt_id = `+nextAttempt(`?`)+`
		WHERE id = ? AND status = ?`, tx.NowMS, r.RunID, job, int64(from))
	if err != nil {
		return err
	}
	tx.Move(r.WorkflowID, from, workflow.Running, 1)
	return nil
}

var releaseStageStatement = core.NewTransition(workflow.OpStage, workflow.Blocked, workflow.Ready,
	`UPDATE job SET status = {to} WHERE stage_id = ? AND status = {from} AND gate_id IS NULL RETURNING id`)

// releaseStageJobs makes the blocked jobs of a stage without dependencies ready, and
// returns them.
func releaseStageJobs(tx *core.Tx, workflowID, stage int64) ([]int64, error) {
	return releaseStageStatement.IDs(tx, workflowID, stage)
}

var waitStatement = core.NewTransition(workflow.OpStage, workflow.Ready, workflow.Blocked, `UPDATE job SET status = {to}, `+notReady+` WHERE id = ? AND status = {from}
	AND (child_id IS NOT NULL OR EXISTS (SELECT 1 FROM stage s WHERE s.id = job.stage_id AND s.state != 'running'))`)

// blockBeforeStage blocks a ready job whose stage is not running, or that is a sub-workflow
// job.
func blockBeforeStage(tx *core.Tx, workflowID, job int64) error {
	_, err := waitStatement.Some(tx, workflowID, job)
	return err
}

var restStatement = core.NewTransition(workflow.OpStage, workflow.Uninitialized, workflow.Disabled, `UPDATE job SET status = {to}
	WHERE status = {from} AND stage_id IN (SELECT id FROM stage WHERE workflow_id = ? AND kind = 'compensation') RETURNING id`)

// DisableNewCompensations disables the new jobs of compensations until these start, and returns
// them.
func DisableNewCompensations(tx *core.Tx, workflowID int64) ([]int64, error) {
	return restStatement.IDs(tx, workflowID, workflowID)
}
