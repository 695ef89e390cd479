package engine

import (
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/action"
)

// hasJobTriggers reports whether an action of a workflow counts jobs.
func hasJobTriggers(tx *core.Tx, workflowID int64) (has bool, err error) {
	err = tx.Row(`SELECT EXISTS (SELECT 1 FROM workflow_action WHERE workflow_id = ? AND has_job_ids = 1
		AND trigger_type IN ('on_jobs_ready', 'on_jobs_complete'))`, []any{workflowID}, &has)
	return has, sqlite.Wrap(err, "check for actions of workflow %d", workflowID)
}

// CountTriggers counts jobs that changed their status, for the actions that wait for that.
func CountTriggers(tx *core.Tx, from, to workflow.JobStatus, jobs []int64) error {
	if len(jobs) == 0 {
		return nil
	}
	for _, kind := range []string{action.TriggerJobsReady, action.TriggerJobsComplete} {
		if !action.TriggerCounts(kind, from, to) {
			continue
		}
		_, err := tx.Exec(`UPDATE workflow_action SET trigger_count = MIN(required_triggers, trigger_count + c.n)
			FROM (SELECT aj.action_id, COUNT(*) AS n FROM json_each(?1) e JOIN workflow_action_job aj ON aj.job_id = e.value GROUP BY aj.action_id) c
			WHERE workflow_action.id = c.action_id AND trigger_type = ?2 AND trigger_count < required_triggers`, sqlite.IDList(jobs), kind)
		if err != nil {
			return fmt.Errorf("count %d jobs for %s: %w", len(jobs), kind, err)
		}
	}
	return nil
}

// triggerEnd triggers the actions that wait for the end of a run.
func triggerEnd(tx *core.Tx, workflowID int64) error {
	_, err := tx.Exec(`UPDATE workflow_action SET trigger_count = required_triggers
		WHERE workflow_id = ? AND trigger_type = 'on_workflow_complete' AND trigger_count < required_triggers`, workflowID)
	return sqlite.Wrap(err, "trigger the actions at the end of workflow %d", workflowID)
}
