package engine

import (
	"fmt"
	"slices"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/event"
)

// Completed is a job that has become complete.
type Completed struct {
	ID       int64
	From, To workflow.JobStatus
}

// ReleaseDependents handles jobs of a workflow that have become complete; the caller has
// changed their rows and job_count. It releases or skips the jobs that waited for them,
// until nothing changes, triggers actions, and ends the run if no job is open.
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

// Cascade applies the ends of jobs to the jobs behind them.
type Cascade struct {
	Tx        *core.Tx
	Run       *view.Run
	triggers  bool // some action counts jobs
	skipped   event.JobsSkippedPayload
	notNeeded event.JobsNotNeededPayload
	touched   []int64 // changed jobs, if the run has stages
}

func newCascade(tx *core.Tx, r *view.Run) (*Cascade, error) {
	triggers, err := hasJobTriggers(tx, r.WorkflowID)
	return &Cascade{Tx: tx, Run: r, triggers: triggers}, err
}

// begin adds the first jobs, and processes their dependents level by level.
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

// follow counts complete jobs in the gates behind them, and continues the jobs behind these
// gates and the given ones, until nothing changes.
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

// announce writes one event for all jobs skipped since the last call, and one for all that
// were not needed.
func (c *Cascade) announce() error {
	skipped, notNeeded := c.skipped, c.notNeeded
	c.skipped, c.notNeeded = event.JobsSkippedPayload{}, event.JobsNotNeededPayload{}
	if skipped.Count > 0 {
		skipped.Category, skipped.RunID = event.CategoryJob, c.Run.RunID
		if err := c.Tx.Event(c.Run.WorkflowID, string(workflow.EventJobsSkipped), event.SeverityWarning, skipped); err != nil {
			return err
		}
	}
	if notNeeded.Count > 0 {
		notNeeded.Category, notNeeded.RunID = event.CategoryJob, c.Run.RunID
		return c.Tx.Event(c.Run.WorkflowID, string(workflow.EventJobsNotNeeded), event.SeverityInfo, notNeeded)
	}
	return nil
}

// note records jobs that became canceled or disabled without having run.
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

// LowerGates counts complete dependencies in their gates. It returns the gates that have
// none left.
func LowerGates(tx *core.Tx, jobs []int64, failed bool) ([]int64, error) {
	if len(jobs) == 0 {
		return nil, nil
	}
	var open []int64
	err := tx.Each(`UPDATE gate SET open = open - c.n, failed = failed + c.n * ?2
		FROM (SELECT d.gate_id, COUNT(*) AS n FROM json_each(?1) e CROSS JOIN gate_dependency d ON d.job_id = e.value GROUP BY d.gate_id) c
		WHERE gate.id = c.gate_id RETURNING id, open`, func(r sqlite.Scanner) error {
		var id, left int64
		err := r.Scan(&id, &left)
		if left == 0 {
			open = append(open, id)
		}
		return err
	}, sqlite.IDList(jobs), failed)
	return open, sqlite.Wrap(err, "lower the gates behind %d jobs", len(jobs))
}

// pass continues the blocked jobs behind open gates. It returns those that were not needed,
// and those that were skipped.
func (c *Cascade) pass(gates string) (notNeeded, skipped []int64, err error) {
	if c.Run.Stages {
		if gates, err = c.ofRunningStages(gates); err != nil {
			return nil, nil, err
		}
	}
	if skipped, err = c.Skip(gates); err != nil {
		return nil, nil, err
	}
	if notNeeded, err = c.disable(gates); err != nil {
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

// ofRunningStages drops the gates of stages that have not started or have ended. All jobs
// behind a gate are in one stage.
func (c *Cascade) ofRunningStages(gates string) (string, error) {
	ids, err := core.IDsOf(c.Tx, `SELECT e.value FROM json_each(?) e WHERE COALESCE((SELECT s.state FROM job j JOIN stage s ON s.id = j.stage_id
		WHERE j.gate_id = e.value LIMIT 1), 'running') = 'running'`, gates)
	if err != nil {
		return "", fmt.Errorf("find gates of running stages: %w", err)
	}
	return sqlite.IDList(ids), nil
}

// Skip cancels jobs behind gates with a failure, as skipJobs does.
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

// disable disables jobs behind gates without a failure, as disableUnneeded does.
func (c *Cascade) disable(gates string) ([]int64, error) {
	ids, err := disableUnneeded(c.Tx, c.Run.WorkflowID, gates)
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
		err := releaseJobs(c.Tx, c.Run.WorkflowID, gates)
		return sqlite.Wrap(err, "make jobs ready")
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
