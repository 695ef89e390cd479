package store

import (
	"database/sql"
	"fmt"
	"slices"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// completion is a job that has become complete.
type completion struct {
	id       int64
	from, to workflow.JobStatus
}

// completed takes in that jobs of a workflow have become complete; their rows
// and their numbers per status have been changed already. Jobs that waited for
// them are released or skipped, in sets and to a fixed point; actions are
// triggered; and if nothing is open any more the run ends.
func (tx *Tx) completed(workflowID int64, jobs []completion) error {
	if len(jobs) == 0 {
		return nil
	}
	r, err := tx.run(workflowID)
	if err != nil {
		return err
	}
	if !r.compensating() {
		if err := tx.clearVerdict(r, "a job of the canceled workflow was completed"); err != nil {
			return err
		}
	}
	resumed, err := tx.resume(r)
	if err != nil {
		return err
	}
	c, err := tx.newCascade(r)
	if err != nil {
		return err
	}
	if err := c.begin(jobs); err != nil {
		return fmt.Errorf("release jobs of workflow %d: %w", workflowID, err)
	}
	if resumed {
		if err := tx.settleAll(r); err != nil {
			return err
		}
		return tx.endIfOver(workflowID)
	}
	if err := tx.convergeFrom(c, nil); err != nil {
		return err
	}
	return tx.endRun(r)
}

// cascade is what the ends of jobs do to those behind them.
type cascade struct {
	tx        *Tx
	run       *run
	triggers  bool // some action counts jobs
	skipped   workflow.JobsSkippedPayload
	notNeeded workflow.JobsNotNeededPayload
	touched   []int64 // the jobs that have changed, if the run has stages
}

func (tx *Tx) newCascade(r *run) (*cascade, error) {
	triggers, err := tx.hasJobTriggers(r.workflowID)
	return &cascade{tx: tx, run: r, triggers: triggers}, err
}

// begin takes in the first jobs, and follows up what it does level by level.
func (c *cascade) begin(jobs []completion) error {
	var good, bad []int64
	for _, j := range jobs {
		if c.run.stages {
			c.touched = append(c.touched, j.id)
		}
		switch {
		case j.from.IsComplete():
		case j.to.IsUnsuccessful():
			bad = append(bad, j.id)
		default:
			good = append(good, j.id)
		}
	}
	if c.triggers {
		if err := c.triggerAll(jobs); err != nil {
			return err
		}
	}
	return c.follow(good, bad, nil)
}

// follow counts jobs that have become complete in the gates that they belong
// to, and lets the jobs behind these gates and the given ones go on, to a fixed
// point.
func (c *cascade) follow(good, bad, gates []int64) error {
	for len(good) > 0 || len(bad) > 0 || len(gates) > 0 {
		opened, err := c.tx.lower(good, false)
		if err != nil {
			return err
		}
		gates = append(gates, opened...)
		if opened, err = c.tx.lower(bad, true); err != nil {
			return err
		}
		if gates = append(gates, opened...); len(gates) == 0 || c.run.halted {
			break
		}
		if good, bad, err = c.pass(idList(gates)); err != nil {
			return err
		}
		gates = nil
	}
	return c.announce()
}

// announce writes one event for all jobs that were skipped since the last time,
// and one for all that were not needed.
func (c *cascade) announce() error {
	skipped, notNeeded := c.skipped, c.notNeeded
	c.skipped, c.notNeeded = workflow.JobsSkippedPayload{}, workflow.JobsNotNeededPayload{}
	if skipped.Count > 0 {
		skipped.Category, skipped.RunID = workflow.CategoryJob, c.run.runID
		if err := c.tx.event(c.run.workflowID, string(workflow.EventJobsSkipped), workflow.SeverityWarning, skipped); err != nil {
			return err
		}
	}
	if notNeeded.Count > 0 {
		notNeeded.Category, notNeeded.RunID = workflow.CategoryJob, c.run.runID
		return c.tx.event(c.run.workflowID, string(workflow.EventJobsNotNeeded), workflow.SeverityInfo, notNeeded)
	}
	return nil
}

// note takes in jobs that became canceled or disabled without having run.
func (c *cascade) note(to workflow.JobStatus, ids []int64, skippedBy int64) {
	if len(ids) == 0 {
		return
	}
	if c.run.stages {
		c.touched = append(c.touched, ids...)
	}
	low, high := slices.Min(ids), slices.Max(ids)
	if to == workflow.Disabled {
		p := &c.notNeeded
		if p.Count == 0 {
			p.FirstJobID = low
		}
		p.Count += int64(len(ids))
		p.FirstJobID, p.LastJobID = min(p.FirstJobID, low), max(p.LastJobID, high)
		return
	}
	p := &c.skipped
	if p.Count == 0 {
		p.FirstJobID, p.SkippedBy = low, skippedBy
	}
	p.Count += int64(len(ids))
	p.FirstJobID, p.LastJobID = min(p.FirstJobID, low), max(p.LastJobID, high)
}

// triggerAll counts the first jobs for actions.
func (c *cascade) triggerAll(jobs []completion) error {
	groups := map[completion][]int64{} // without id
	for _, j := range jobs {
		if !j.from.IsComplete() {
			step := completion{from: j.from, to: j.to}
			groups[step] = append(groups[step], j.id)
		}
	}
	for step, ids := range groups {
		if err := c.tx.trigger(step.from, step.to, ids); err != nil {
			return err
		}
	}
	return nil
}

// lower counts dependencies that are complete in the gates that they belong
// to, and returns the gates that have none left.
func (tx *Tx) lower(jobs []int64, failed bool) ([]int64, error) {
	if len(jobs) == 0 {
		return nil, nil
	}
	rows, err := tx.query(`UPDATE gate SET open = open - c.n, failed = failed + c.n * ?2
		FROM (SELECT d.gate_id, COUNT(*) AS n FROM json_each(?1) e CROSS JOIN gate_dependency d ON d.job_id = e.value GROUP BY d.gate_id) c
		WHERE gate.id = c.gate_id RETURNING id, open`, idList(jobs), failed)
	if err != nil {
		return nil, fmt.Errorf("lower the gates behind %d jobs: %w", len(jobs), err)
	}
	defer rows.Close()
	var open []int64
	for rows.Next() {
		var id, left int64
		if err := rows.Scan(&id, &left); err != nil {
			return nil, fmt.Errorf("lower the gates behind %d jobs: %w", len(jobs), err)
		}
		if left == 0 {
			open = append(open, id)
		}
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("lower the gates behind %d jobs: %w", len(jobs), err)
	}
	return open, nil
}

// pass lets the blocked jobs behind open gates go on, and returns those that
// are not needed and those that were skipped.
func (c *cascade) pass(gates string) (notNeeded, skipped []int64, err error) {
	if c.run.stages {
		if gates, err = c.ofRunningStages(gates); err != nil {
			return nil, nil, err
		}
	}
	if skipped, err = c.skip(gates); err != nil {
		return nil, nil, err
	}
	if notNeeded, err = c.spare(gates); err != nil {
		return nil, nil, err
	}
	if c.run.compensating() {
		needless, err := c.passNeedless(gates)
		if err != nil {
			return nil, nil, err
		}
		notNeeded = append(notNeeded, needless...)
	}
	return notNeeded, skipped, c.release(gates)
}

// ofRunningStages returns those of the gates that are not of a stage that has not
// started, or has ended: all jobs behind a gate are in the same one.
func (c *cascade) ofRunningStages(gates string) (string, error) {
	ids, err := c.tx.idsOf(`SELECT e.value FROM json_each(?) e WHERE COALESCE((SELECT s.state FROM job j JOIN stage s ON s.id = j.stage_id
		WHERE j.gate_id = e.value LIMIT 1), 'running') = 'running'`, gates)
	if err != nil {
		return "", fmt.Errorf("find gates of running stages: %w", err)
	}
	return idList(ids), nil
}

// skip cancels the blocked jobs behind gates with a failure that do not want to
// run after one, and those behind gates that wait for one of these alone, so
// that a chain costs no statement per level. The latter gates count them later.
// (The + has SQLite look jobs up by their ids, instead of going through all jobs.)
func (c *cascade) skip(gates string) ([]int64, error) {
	rows, err := c.tx.query(`WITH RECURSIVE failed (gate_id, culprit) AS MATERIALIZED (
			SELECT g.id, (SELECT COALESCE(x.skipped_by, x.id) FROM gate_dependency d JOIN job x ON x.id = d.job_id
				WHERE d.gate_id = g.id AND x.status IN (6, 7, 8) ORDER BY d.job_id LIMIT 1)
			FROM json_each(?) e CROSS JOIN gate g ON g.id = e.value WHERE g.failed > 0),
		gone (job_id, culprit) AS (
			SELECT j.id, f.culprit FROM failed f CROSS JOIN job j ON j.gate_id = f.gate_id
				WHERE j.status = 1 AND j.run_if = 0
			UNION ALL
			SELECT j.id, x.culprit FROM gone x CROSS JOIN gate_dependency d ON d.job_id = x.job_id
				CROSS JOIN gate g ON g.id = d.gate_id AND g.open = 1 CROSS JOIN job j ON j.gate_id = g.id
				WHERE j.status = 1 AND j.run_if = 0)
		UPDATE job SET status = 7, skipped_by = gone.culprit FROM gone WHERE job.id = +gone.job_id RETURNING id, skipped_by`, gates)
	if err != nil {
		return nil, fmt.Errorf("skip jobs: %w", err)
	}
	defer rows.Close()
	var ids []int64
	var first sql.NullInt64 // the culprit of the first
	for rows.Next() {
		var id int64
		var culprit sql.NullInt64
		if err := rows.Scan(&id, &culprit); err != nil {
			return nil, fmt.Errorf("skip jobs: %w", err)
		}
		if ids = append(ids, id); len(ids) == 1 {
			first = culprit
		}
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("skip jobs: %w", err)
	}
	c.note(workflow.Canceled, ids, first.Int64)
	c.tx.move(c.run.workflowID, workflow.Blocked, workflow.Canceled, int64(len(ids)))
	if c.triggers {
		return ids, c.tx.trigger(workflow.Blocked, workflow.Canceled, ids)
	}
	return ids, nil
}

// spare disables the blocked jobs behind gates without a failure that want to
// run after one, and, as skip does, those that wait for one of these alone.
func (c *cascade) spare(gates string) ([]int64, error) {
	ids, err := c.tx.idsOf(`WITH RECURSIVE spared (job_id) AS (
			SELECT j.id FROM json_each(?) e CROSS JOIN gate g ON g.id = e.value AND g.failed = 0 CROSS JOIN job j ON j.gate_id = g.id
				WHERE j.status = 1 AND j.run_if = 2
			UNION ALL
			SELECT j.id FROM spared x CROSS JOIN gate_dependency d ON d.job_id = x.job_id
				CROSS JOIN gate g ON g.id = d.gate_id AND g.open = 1 AND g.failed = 0 CROSS JOIN job j ON j.gate_id = g.id
				WHERE j.status = 1 AND j.run_if = 2)
		UPDATE job SET status = 9, skipped_by = 0 FROM spared WHERE job.id = +spared.job_id RETURNING id`, gates)
	if err != nil {
		return nil, fmt.Errorf("disable jobs that are not needed: %w", err)
	}
	if len(ids) == 0 {
		return nil, nil
	}
	c.note(workflow.Disabled, ids, 0)
	c.tx.move(c.run.workflowID, workflow.Blocked, workflow.Disabled, int64(len(ids)))
	if c.triggers {
		return ids, c.tx.trigger(workflow.Blocked, workflow.Disabled, ids)
	}
	return ids, nil
}

const releaseJobs = `UPDATE job SET status = 2 WHERE gate_id IN (SELECT value FROM json_each(?)) AND status = 1`

// release makes the blocked jobs behind gates ready.
func (c *cascade) release(gates string) error {
	if !c.triggers && !c.run.stages {
		n, err := c.tx.exec(releaseJobs, gates)
		if err != nil {
			return fmt.Errorf("make jobs ready: %w", err)
		}
		c.tx.move(c.run.workflowID, workflow.Blocked, workflow.Ready, n)
		return nil
	}
	rows, err := c.tx.query(releaseJobs+` RETURNING id`, gates)
	if err != nil {
		return fmt.Errorf("make jobs ready: %w", err)
	}
	ids, err := collect(rows, scanID)
	if err != nil {
		return fmt.Errorf("make jobs ready: %w", err)
	}
	c.tx.move(c.run.workflowID, workflow.Blocked, workflow.Ready, int64(len(ids)))
	if c.run.stages {
		c.touched = append(c.touched, ids...)
	}
	if !c.triggers {
		return nil
	}
	return c.tx.trigger(workflow.Blocked, workflow.Ready, ids)
}

func scanID(r rowScanner) (id int64, err error) { return id, r.Scan(&id) }
