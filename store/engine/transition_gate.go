package engine

import (
	"database/sql"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// behindGates is a condition for jobs behind gates.
const behindGates = `gate_id IN (SELECT value FROM json_each(?))`

// skipStatement follows whole chains, which avoids a statement per level. The + makes
// SQLite find jobs by id instead of reading all.
var skipStatement = core.NewTransition(workflow.OpSkip, workflow.Blocked, workflow.Canceled, `WITH RECURSIVE failed (gate_id, culprit) AS MATERIALIZED (
		SELECT g.id, (SELECT COALESCE(x.skipped_by, x.id) FROM gate_dependency d JOIN job x ON x.id = d.job_id
			WHERE d.gate_id = g.id AND x.status IN {unsuccessful} ORDER BY d.job_id LIMIT 1)
		FROM json_each(?) e CROSS JOIN gate g ON g.id = e.value WHERE g.failed > 0),
	gone (job_id, culprit) AS (
		SELECT j.id, f.culprit FROM failed f CROSS JOIN job j ON j.gate_id = f.gate_id
			WHERE j.status = {from} AND j.run_if = 0
		UNION ALL
		SELECT j.id, x.culprit FROM gone x CROSS JOIN gate_dependency d ON d.job_id = x.job_id
			CROSS JOIN gate g ON g.id = d.gate_id AND g.open = 1 CROSS JOIN job j ON j.gate_id = g.id
			WHERE j.status = {from} AND j.run_if = 0)
	UPDATE job SET status = {to}, skipped_by = gone.culprit FROM gone WHERE job.id = +gone.job_id RETURNING id, skipped_by`)

// skipJobs cancels the blocked jobs behind gates with a failure that do not run after one,
// and those behind gates that wait only for such jobs; these gates are counted later. It
// returns the jobs, and because of which job the first was skipped.
func skipJobs(tx *core.Tx, workflowID int64, gates string) (ids []int64, first sql.NullInt64, err error) {
	err = tx.Each(skipStatement.Text, func(r sqlite.Scanner) error {
		var id int64
		var culprit sql.NullInt64
		err := r.Scan(&id, &culprit)
		if ids = append(ids, id); len(ids) == 1 {
			first = culprit
		}
		return err
	}, gates)
	tx.Move(workflowID, workflow.Blocked, workflow.Canceled, int64(len(ids)))
	return ids, first, err
}

var unneededStatement = core.NewTransition(workflow.OpSkip, workflow.Blocked, workflow.Disabled, `WITH RECURSIVE spared (job_id) AS (
		SELECT j.id FROM json_each(?) e CROSS JOIN gate g ON g.id = e.value AND g.failed = 0 CROSS JOIN job j ON j.gate_id = g.id
			WHERE j.status = {from} AND j.run_if = 2
		UNION ALL
		SELECT j.id FROM spared x CROSS JOIN gate_dependency d ON d.job_id = x.job_id
			CROSS JOIN gate g ON g.id = d.gate_id AND g.open = 1 AND g.failed = 0 CROSS JOIN job j ON j.gate_id = g.id
			WHERE j.status = {from} AND j.run_if = 2)
	UPDATE job SET status = {to}, skipped_by = 0 FROM spared WHERE job.id = +spared.job_id RETURNING id`)

// disableUnneeded disables the blocked jobs behind gates without a failure that only run after
// one, and, like skipJobs, those that wait only for such jobs. It returns them.
func disableUnneeded(tx *core.Tx, workflowID int64, gates string) ([]int64, error) {
	return unneededStatement.IDs(tx, workflowID, gates)
}

var needlessStatement = core.NewTransition(workflow.OpSkip, workflow.Blocked, workflow.Disabled,
	`UPDATE job SET status = {to} WHERE `+behindGates+` AND status = {from} AND skipped_by = 0 RETURNING id`)

// disableNeedless disables and returns the needless undo jobs behind gates (needlessUndo).
func disableNeedless(tx *core.Tx, workflowID int64, gates string) ([]int64, error) {
	return needlessStatement.IDs(tx, workflowID, gates)
}

var (
	releaseStatement    = core.NewTransition(workflow.OpRelease, workflow.Blocked, workflow.Ready, releaseText)
	releaseIDsStatement = core.NewTransition(workflow.OpRelease, workflow.Blocked, workflow.Ready, releaseText+` RETURNING id`)
)

const releaseText = `UPDATE job SET status = {to} WHERE ` + behindGates + ` AND status = {from}`

// releaseJobs makes the blocked jobs behind gates ready.
func releaseJobs(tx *core.Tx, workflowID int64, gates string) error {
	_, err := releaseStatement.Some(tx, workflowID, gates)
	return err
}

// releaseJobIDs makes the blocked jobs behind gates ready, and returns them.
func releaseJobIDs(tx *core.Tx, workflowID int64, gates string) ([]int64, error) {
	return releaseIDsStatement.IDs(tx, workflowID, gates)
}

var releaseFreeStatement = core.NewTransition(workflow.OpRelease, workflow.Blocked, workflow.Ready,
	`UPDATE job SET status = {to} WHERE workflow_id = ?1 AND status = {from} AND gate_id IS NULL AND `+mayBegin+` RETURNING id`)

// releaseFree makes the blocked jobs of a workflow without dependencies ready, and returns
// them.
func releaseFree(tx *core.Tx, workflowID int64) ([]int64, error) {
	return releaseFreeStatement.IDs(tx, workflowID, workflowID)
}

var releaseOneStatement = core.NewTransition(workflow.OpRelease, workflow.Blocked, workflow.Ready,
	`UPDATE job SET status = {to} WHERE id = ? AND status = {from}`)

// releaseJob makes a blocked job ready.
func releaseJob(tx *core.Tx, workflowID, job int64) error {
	return releaseOneStatement.All(tx, workflowID, 1, job)
}

var (
	blockStatement      = core.NewTransition(workflow.OpReopen, workflow.Ready, workflow.Blocked, `UPDATE job SET status = {to}, `+notReady+` WHERE `+behindGates+` AND status = {from}`)
	blockSkipped        = core.NewTransition(workflow.OpReopen, workflow.Canceled, workflow.Blocked, `UPDATE job SET status = {to}, skipped_by = NULL`+blockText)
	blockNotNeeded      = core.NewTransition(workflow.OpReopen, workflow.Disabled, workflow.Blocked, `UPDATE job SET status = {to}, skipped_by = iif(undoes_id IS NOT NULL, 0, NULL)`+blockText)
	blockAgainStatement = core.NewTransition(workflow.OpReopen, workflow.Ready, workflow.Blocked, `UPDATE job SET status = {to}, `+notReady+`
		WHERE id IN (SELECT value FROM json_each(?)) AND status = {from} AND gate_id IS NOT NULL AND (SELECT open FROM gate WHERE id = job.gate_id) > 0`)
)

const blockText = ` WHERE ` + behindGates + ` AND status = {from} AND skipped_by IS NOT NULL RETURNING id`

// blockJobs blocks jobs behind closed gates. It returns those that were complete: skipped,
// or not needed.
func blockJobs(tx *core.Tx, workflowID int64, gates string) (all []int64, err error) {
	if _, err := blockStatement.Some(tx, workflowID, gates); err != nil {
		return nil, err
	}
	for _, t := range []*core.Transition{blockSkipped, blockNotNeeded} {
		ids, err := t.IDs(tx, workflowID, gates)
		if err != nil {
			return nil, err
		}
		all = append(all, ids...)
	}
	return all, nil
}

// blockJobsAgain blocks those of the given jobs that are ready but behind closed gates.
func blockJobsAgain(tx *core.Tx, workflowID int64, jobs []int64) error {
	_, err := blockAgainStatement.Some(tx, workflowID, sqlite.IDList(jobs))
	return err
}
