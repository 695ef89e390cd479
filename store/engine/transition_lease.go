package engine

import (
	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
)

var claimStatement = core.NewTransition(workflow.OpClaim, workflow.Ready, workflow.Pending, `UPDATE job SET status = {to}, fence = fence + 1,
		compute_node_id = ?2, claimed_ms = ?3, start_ms = NULL, `+notReady+`,
		first_ready_ms = COALESCE(first_ready_ms, iif(policy_id IS NULL, NULL, ?3)),
		attempt_id = `+nextAttempt(`?4`)+`
	WHERE id IN (SELECT value FROM json_each(?1)) AND status = {from}`)

// ClaimJobs leases ready jobs to a holder; nil is a torc client. The attempt number follows
// the last recorded one of this run.
func ClaimJobs(tx *core.Tx, workflowID, runID int64, jobs []int64, holder *int64) error {
	// A job that became ready in this use case has no time stamp yet: first_ready_ms.
	return claimStatement.All(tx, workflowID, len(jobs), sqlite.IDList(jobs), holder, tx.NowMS, runID)
}

var giveBackStatement = core.NewTransition(workflow.OpGiveBack, workflow.Pending, workflow.Ready, `UPDATE job SET status = {to}, `+unclaimed+`,
		told = iif(cancel_for IS NULL, told, told & 7), cancel_for = NULL
	WHERE id IN (SELECT value FROM json_each(?)) AND status = {from} AND phase = 0`)

// giveBackJobs makes claimed jobs that were not started ready.
func giveBackJobs(tx *core.Tx, workflowID int64, jobs []int64) error {
	return giveBackStatement.All(tx, workflowID, len(jobs), sqlite.IDList(jobs))
}

// ReturnStatement makes jobs ready that were claimed before a time and not started.
var ReturnStatement = core.NewTransition(workflow.OpGiveBack, workflow.Pending, workflow.Ready, `UPDATE job SET status = {to}, fence = fence + 1, claimed_ms = NULL
	WHERE status = {from} AND compute_node_id IS NULL AND claimed_ms < ? RETURNING workflow_id, id`)

// ReturnJobs makes jobs ready that torc clients claimed before a time and did not start. It
// returns them by workflow.
func ReturnJobs(tx *core.Tx, claimedBeforeMS int64) (map[int64][]int64, error) {
	rows, err := tx.Query(ReturnStatement.Text, claimedBeforeMS) //nolint:rowserrcheck // CollectLists checks it
	if err != nil {
		return nil, err
	}
	returned, err := view.CollectLists(rows)
	for workflowID, jobs := range returned {
		tx.Move(workflowID, workflow.Pending, workflow.Ready, int64(len(jobs)))
	}
	return returned, err
}

var cancelClaimedStatement = core.NewTransition(workflow.OpCancel, workflow.Pending, workflow.Canceled, `UPDATE job SET status = {to}, claimed_ms = NULL
	WHERE id IN (SELECT value FROM json_each(?)) AND status = {from} AND phase = 0`)

// cancelClaimedJobs cancels claimed jobs that were not started.
func cancelClaimedJobs(tx *core.Tx, workflowID int64, jobs []int64) error {
	return cancelClaimedStatement.All(tx, workflowID, len(jobs), sqlite.IDList(jobs))
}

var startStatement = core.NewTransition(workflow.OpStart, workflow.Pending, workflow.Running,
	`UPDATE job SET status = {to}, start_ms = ? WHERE id = ? AND status = {from}`)

// startJob records that the process of a claimed job has been running since startMS.
func startJob(tx *core.Tx, workflowID, job, startMS int64) error {
	return startStatement.All(tx, workflowID, 1, startMS, job)
}

var notStartStatement = core.NewTransition(workflow.OpNotStart, workflow.Running, workflow.Pending,
	`UPDATE job SET status = {to}, start_ms = NULL WHERE id = ? AND status = {from}`)

// notStartJob takes back the start of a claimed job.
func notStartJob(tx *core.Tx, workflowID, job int64) error {
	return notStartStatement.All(tx, workflowID, 1, job)
}
