package store

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/criterion"
)

// eachFunc calls a function for each row of a query.
type eachFunc func(query string, f func(rowScanner) error, args ...any) error

// stagedCounts takes what the jobs in stages amount to from the counts of a
// workflow, so that those of the main stage are left.
func stagedCounts(each eachFunc, workflowID, runID int64, c *workflow.Counts) error {
	staged, err := countJobs(each, `FROM stage s JOIN job j ON j.stage_id = s.id WHERE s.workflow_id = ?1`, workflowID, runID)
	if err != nil {
		return fmt.Errorf("count the jobs in the stages of workflow %d: %w", workflowID, err)
	}
	for status, n := range staged.ByStatus {
		c.ByStatus[status] -= n
	}
	for cause, n := range staged.ByCause {
		c.ByCause[cause] -= n
	}
	c.Retried -= staged.Retried
	return nil
}

// countJobs counts the jobs j of a FROM clause, in which ?1 is the id, and their
// attempts in a run.
func countJobs(each eachFunc, from string, id, runID int64) (c workflow.Counts, err error) {
	err = each(`SELECT j.status, COUNT(*) `+from+` AND ?2 IS NOT NULL GROUP BY j.status`, func(r rowScanner) error {
		var status workflow.JobStatus
		var n int64
		err := r.Scan(&status, &n)
		if err == nil {
			c.ByStatus[status] = n
		}
		return err
	}, id, runID)
	if err != nil {
		return c, err
	}
	c.ByCause = map[workflow.CauseKind]int64{}
	return c, each(`SELECT a.cause, COUNT(*), SUM(a.action IN ('retry', 'recover')) FROM attempt a
		WHERE a.run_id = ?2 AND a.job_id IN (SELECT j.id `+from+`) GROUP BY a.cause`, func(r rowScanner) error {
		var cause workflow.CauseKind
		var n, retried int64
		err := r.Scan(&cause, &n, &retried)
		c.ByCause[cause] = n
		c.Retried += retried
		return err
	}, id, runID)
}

// endJobResult returns how the end job of a stage (nil: of the main one) ended;
// nil if there is none, or somebody disabled it.
func endJobResult(each eachFunc, workflowID int64, of *int64) (result *workflow.EndJobResult, err error) {
	err = each(`SELECT j.id, j.name, j.status, COALESCE(a.return_code, 0), COALESCE(a.cause_text, '')
		FROM stage s JOIN job j ON j.stage_id = s.id LEFT JOIN attempt a ON a.job_id = j.id AND a.run_id = s.run_id AND a.attempt_id = j.attempt_id
		WHERE s.workflow_id = ? AND s.kind = 'end' AND s.parent_id IS ? AND j.status BETWEEN 5 AND 8 LIMIT 1`, func(r rowScanner) error {
		result = &workflow.EndJobResult{}
		return r.Scan(&result.JobID, &result.Name, &result.Status, &result.ReturnCode, &result.Text)
	}, workflowID, of)
	if err != nil {
		return nil, fmt.Errorf("read the end job of workflow %d: %w", workflowID, err)
	}
	return result, nil
}

// stageVerdict judges a child stage that is over.
func stageVerdict(each eachFunc, s *workflow.Stage, runID int64) (v workflow.StageVerdict, err error) {
	counts, err := countJobs(each, `FROM job j WHERE j.stage_id = ?1`, s.ID, runID)
	if err != nil {
		return v, fmt.Errorf("count the jobs of stage %d: %w", s.ID, err)
	}
	if counts.EndJob, err = endJobResult(each, s.WorkflowID, &s.ID); err != nil {
		return v, err
	}
	var success *criterion.Expr
	if s.Policy.SuccessIf != "" {
		if success, err = criterion.Compile(s.Policy.SuccessIf); err != nil {
			return v, fmt.Errorf("read the condition of success of stage %d: %w", s.ID, err)
		}
	}
	scope := patternScope{workflowID: s.WorkflowID, stageID: &s.ID, prefix: utf8.RuneCountInString(s.Name) + 1}
	if err := patternCounts(each, scope, success, &counts); err != nil {
		return v, err
	}
	return workflow.NewStageVerdict(s, workflow.EndVerdict(counts, success)), nil
}

// finishStage gives a child its verdict, which its sub-workflow job takes over.
func (c *convergence) finishStage(s, end *stageRow) error {
	tx := c.tx
	s.RunID = c.run.runID // a new run may have begun since its start
	if err := tx.endEnd(end, s.RunID); err != nil {
		return err
	}
	if err := c.cascade.announce(); err != nil {
		return err
	}
	v, err := stageVerdict(tx.each, &s.Stage, c.run.runID)
	if err != nil {
		return err
	}
	l, err := getOne(tx, "job", *s.JobID, `SELECT `+leaseColumns+` FROM job WHERE id = ?`, scanLease)
	if err != nil {
		return err
	}
	v.JobID, v.JobName = l.JobID, l.name
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("end stage %d: %w", s.ID, err)
	}
	err = tx.execOne(`UPDATE stage SET state = 'ended', run_id = ?, ended_ms = ?, verdict = ? WHERE id = ? AND state = 'running'`,
		s.RunID, tx.nowMS, string(text), s.ID)
	if err != nil {
		return fmt.Errorf("end stage %d: %w", s.ID, err)
	}
	severity := workflow.SeverityInfo
	if !v.Succeeded() {
		severity = workflow.SeverityError
	}
	if err := tx.event(c.run.workflowID, v.EventType, severity, v); err != nil {
		return err
	}
	return c.endStageJob(&l, v.Cause())
}

// endStageJob ends a sub-workflow job as its stage ended, with all that follows.
func (c *convergence) endStageJob(l *lease, cause workflow.Cause) error {
	f := newFinisher(c.tx, c.run)
	d := workflow.Decision{Action: workflow.ActionNone, Reason: "its sub-workflow was successful"}
	if cause.Status.IsUnsuccessful() {
		d = workflow.Decision{Action: workflow.ActionFail, Reason: "its sub-workflow was not successful"}
	}
	if err := f.record(l, &ending{cause: cause, endMS: c.tx.nowMS, noResult: true}, &d); err != nil {
		return err
	}
	if err := f.attempts.flush(); err != nil {
		return fmt.Errorf("record attempt %d of job %d: %w", l.Attempt, l.JobID, err)
	}
	done, err := c.tx.applyChanges(c.run, []change{{job: l.JobID, from: l.status, to: cause.Status}})
	if err != nil {
		return err
	}
	l.status = cause.Status
	if err := f.endsSiblings(l, &ending{cause: cause}); err != nil {
		return err
	}
	if err := f.announceStatus(l, cause, d.Reason); err != nil {
		return err
	}
	if err := f.endSiblings(); err != nil {
		return err
	}
	return c.cascade.begin(done)
}
