package engine

import (
	"fmt"
	"slices"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// Completed is a job that has become complete.
type Completed struct {
	ID       int64
	From, To workflow.JobStatus
}

// ReleaseDependents takes in that jobs of a workflow have become complete; their rows
// and their numbers per status have been changed already. Jobs that waited for
// them are released or skipped, in sets and to a fixed point; actions are
// triggered; and if nothing is open any more the run ends.
func ReleaseDependents(tx *core.Tx, workflowID int64, jobs []Completed) error {
	if len(jobs) == 0 {
		return nil
	}
	r, err := core.LoadRun(tx, workflowID)
	if err != nil {
		return err
	}
	if !r.Compensating() {
		if err := clearVerdict(tx, r, "a job of the canceled workflow was completed"); err != nil {
			return err
		}
	}
	resumed, err := resumeRun(tx, r)
	if err != nil {
		return err
	}
	c, err := newCascade(tx, r)
	if err != nil {
		return err
	}
	if err := c.begin(jobs); err != nil {
		return fmt.Errorf("release jobs of workflow %d: %w", workflowID, err)
	}
	if resumed {
		if err := SettleAllBlocked(tx, r); err != nil {
			return err
		}
		return EndIfOver(tx, workflowID)
	}
	if err := convergeFrom(tx, c, nil); err != nil {
		return err
	}
	return endRun(tx, r)
}

// Cascade is what the ends of jobs do to those behind them.
type Cascade struct {
	Tx        *core.Tx
	Run       *view.Run
	triggers  bool // some action counts jobs
	skipped   workflow.JobsSkippedPayload
	notNeeded workflow.JobsNotNeededPayload
	touched   []int64 // the jobs that have changed, if the run has stages
}

func newCascade(tx *core.Tx, r *view.Run) (*Cascade, error) {
	triggers, err := hasJobTriggers(tx, r.WorkflowID)
	return &Cascade{Tx: tx, Run: r, triggers: triggers}, err
}

// begin takes in the first jobs, and follows up what it does level by level.
func (c *Cascade) begin(jobs []Completed) error {
	var good, bad []int64
	for _, j := range jobs {
		if c.Run.Stages {
			c.touched = append(c.touched, j.ID)
		}
		switch {
		case j.From.IsComplete():
		case j.To.IsUnsuccessful():
			bad = append(bad, j.ID)
		default:
			good = append(good, j.ID)
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
func (c *Cascade) follow(good, bad, gates []int64) error {
	for len(good) > 0 || len(bad) > 0 || len(gates) > 0 {
		opened, err := LowerGates(c.Tx, good, false)
		if err != nil {
			return err
		}
		gates = append(gates, opened...)
		if opened, err = LowerGates(c.Tx, bad, true); err != nil {
			return err
		}
		if gates = append(gates, opened...); len(gates) == 0 || c.Run.Halted {
			break
		}
		if good, bad, err = c.pass(sqlite.IDList(gates)); err != nil {
			return err
		}
		gates = nil
	}
	return c.announce()
}

// announce writes one event for all jobs that were skipped since the last time,
// and one for all that were not needed.
func (c *Cascade) announce() error {
	skipped, notNeeded := c.skipped, c.notNeeded
	c.skipped, c.notNeeded = workflow.JobsSkippedPayload{}, workflow.JobsNotNeededPayload{}
	if skipped.Count > 0 {
		skipped.Category, skipped.RunID = workflow.CategoryJob, c.Run.RunID
		if err := c.Tx.Event(c.Run.WorkflowID, string(workflow.EventJobsSkipped), workflow.SeverityWarning, skipped); err != nil {
			return err
		}
	}
	if notNeeded.Count > 0 {
		notNeeded.Category, notNeeded.RunID = workflow.CategoryJob, c.Run.RunID
		return c.Tx.Event(c.Run.WorkflowID, string(workflow.EventJobsNotNeeded), workflow.SeverityInfo, notNeeded)
	}
	return nil
}

// note takes in jobs that became canceled or disabled without having run.
func (c *Cascade) note(to workflow.JobStatus, ids []int64, skippedBy int64) {
	if len(ids) == 0 {
		return
	}
	if c.Run.Stages {
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
func (c *Cascade) triggerAll(jobs []Completed) error {
	groups := map[Completed][]int64{} // without id
	for _, j := range jobs {
		if !j.From.IsComplete() {
			step := Completed{From: j.From, To: j.To}
			groups[step] = append(groups[step], j.ID)
		}
	}
	for step, ids := range groups {
		if err := CountTriggers(c.Tx, step.From, step.To, ids); err != nil {
			return err
		}
	}
	return nil
}

// LowerGates counts dependencies that are complete in the gates that they belong
// to, and returns the gates that have none left.
func LowerGates(tx *core.Tx, jobs []int64, failed bool) ([]int64, error) {
	if len(jobs) == 0 {
		return nil, nil
	}
	rows, err := tx.Query(`UPDATE gate SET open = open - c.n, failed = failed + c.n * ?2
		FROM (SELECT d.gate_id, COUNT(*) AS n FROM json_each(?1) e CROSS JOIN gate_dependency d ON d.job_id = e.value GROUP BY d.gate_id) c
		WHERE gate.id = c.gate_id RETURNING id, open`, sqlite.IDList(jobs), failed)
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
func (c *Cascade) pass(gates string) (notNeeded, skipped []int64, err error) {
	if c.Run.Stages {
		if gates, err = c.ofRunningStages(gates); err != nil {
			return nil, nil, err
		}
	}
	if skipped, err = c.Skip(gates); err != nil {
		return nil, nil, err
	}
	if notNeeded, err = c.spare(gates); err != nil {
		return nil, nil, err
	}
	if c.Run.Compensating() {
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
func (c *Cascade) ofRunningStages(gates string) (string, error) {
	ids, err := core.IDsOf(c.Tx, `SELECT e.value FROM json_each(?) e WHERE COALESCE((SELECT s.state FROM job j JOIN stage s ON s.id = j.stage_id
		WHERE j.gate_id = e.value LIMIT 1), 'running') = 'running'`, gates)
	if err != nil {
		return "", fmt.Errorf("find gates of running stages: %w", err)
	}
	return sqlite.IDList(ids), nil
}

// Skip cancels jobs behind gates with a failure, as skipJobs says.
func (c *Cascade) Skip(gates string) ([]int64, error) {
	ids, first, err := skipJobs(c.Tx, c.Run.WorkflowID, gates)
	if err != nil {
		return nil, fmt.Errorf("skip jobs: %w", err)
	}
	c.note(workflow.Canceled, ids, first.Int64)
	if c.triggers {
		return ids, CountTriggers(c.Tx, workflow.Blocked, workflow.Canceled, ids)
	}
	return ids, nil
}

// spare disables jobs behind gates without a failure, as spareJobs says.
func (c *Cascade) spare(gates string) ([]int64, error) {
	ids, err := spareJobs(c.Tx, c.Run.WorkflowID, gates)
	if err != nil {
		return nil, fmt.Errorf("disable jobs that are not needed: %w", err)
	}
	if len(ids) == 0 {
		return nil, nil
	}
	c.note(workflow.Disabled, ids, 0)
	if c.triggers {
		return ids, CountTriggers(c.Tx, workflow.Blocked, workflow.Disabled, ids)
	}
	return ids, nil
}

// release makes the blocked jobs behind gates ready.
func (c *Cascade) release(gates string) error {
	if !c.triggers && !c.Run.Stages {
		if err := releaseJobs(c.Tx, c.Run.WorkflowID, gates); err != nil {
			return fmt.Errorf("make jobs ready: %w", err)
		}
		return nil
	}
	ids, err := releaseJobIDs(c.Tx, c.Run.WorkflowID, gates)
	if err != nil {
		return fmt.Errorf("make jobs ready: %w", err)
	}
	if c.Run.Stages {
		c.touched = append(c.touched, ids...)
	}
	if !c.triggers {
		return nil
	}
	return CountTriggers(c.Tx, workflow.Blocked, workflow.Ready, ids)
}
