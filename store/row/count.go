package row

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/criterion"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

// Each calls a function for each row of a query.
type Each func(query string, f func(sqlite.Scanner) error, args ...any) error

// StagedCounts subtracts the jobs in stages from the counts of a workflow, which leaves
// those of the main stage.
func StagedCounts(each Each, workflowID, runID int64, c *stage.Counts) error {
	staged, err := CountJobs(each, `FROM stage s JOIN job j ON j.stage_id = s.id WHERE s.workflow_id = ?1`, workflowID, runID)
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

// CountJobs counts the jobs j of a FROM clause, in which ?1 is the id, and their attempts
// in a run.
func CountJobs(each Each, from string, id, runID int64) (c stage.Counts, err error) {
	err = each(`SELECT j.status, COUNT(*) `+from+` AND ?2 IS NOT NULL GROUP BY j.status`, func(r sqlite.Scanner) error {
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
		WHERE a.run_id = ?2 AND a.job_id IN (SELECT j.id `+from+`) GROUP BY a.cause`, func(r sqlite.Scanner) error {
		var cause workflow.CauseKind
		var n, retried int64
		err := r.Scan(&cause, &n, &retried)
		c.ByCause[cause] = n
		c.Retried += retried
		return err
	}, id, runID)
}

// EndJobResult returns how the end job of a stage (nil: of the main one) ended; nil if
// there is none or it is disabled.
func EndJobResult(each Each, workflowID int64, of *int64) (result *stage.EndJobResult, err error) {
	err = each(`SELECT j.id, j.name, j.status, COALESCE(a.return_code, 0), COALESCE(a.cause_text, '')
		FROM stage s JOIN job j ON j.stage_id = s.id LEFT JOIN attempt a ON a.job_id = j.id AND a.run_id = s.run_id AND a.attempt_id = j.attempt_id
		WHERE s.workflow_id = ? AND s.kind = 'end' AND s.parent_id IS ? AND j.status BETWEEN {completed} AND {terminated} LIMIT 1`, func(r sqlite.Scanner) error {
		result = &stage.EndJobResult{}
		return r.Scan(&result.JobID, &result.Name, &result.Status, &result.ReturnCode, &result.Text)
	}, workflowID, of)
	return result, sqlite.Wrap(err, "read the end job of workflow %d", workflowID)
}

// StageVerdict returns the verdict on a child stage that is over.
func StageVerdict(each Each, s *stage.Stage, runID int64) (v stage.StageVerdict, err error) {
	counts, err := CountJobs(each, `FROM job j WHERE j.stage_id = ?1`, s.ID, runID)
	if err != nil {
		return v, fmt.Errorf("count the jobs of stage %d: %w", s.ID, err)
	}
	if counts.EndJob, err = EndJobResult(each, s.WorkflowID, &s.ID); err != nil {
		return v, err
	}
	var success *criterion.Expr
	if s.Policy.SuccessIf != "" {
		if success, err = criterion.Compile(s.Policy.SuccessIf); err != nil {
			return v, fmt.Errorf("read the success condition of stage %d: %w", s.ID, err)
		}
	}
	scope := PatternScope{WorkflowID: s.WorkflowID, StageID: &s.ID, Prefix: utf8.RuneCountInString(s.Name) + 1}
	if err := PatternCounts(each, scope, success, &counts); err != nil {
		return v, err
	}
	return stage.NewStageVerdict(s, stage.EndVerdict(counts, success)), nil
}

// PatternScope is where a success condition looks for jobs: in a stage (nil: the main one),
// ignoring the first characters of names.
type PatternScope struct {
	WorkflowID int64
	StageID    *int64
	Prefix     int
}

// PatternCounts adds the numbers of jobs that a condition of success names.
func PatternCounts(each Each, in PatternScope, success *criterion.Expr, c *stage.Counts) error {
	if success == nil {
		return nil
	}
	c.ByPattern = map[string]workflow.StatusCounts{}
	for _, call := range success.Calls() {
		if _, known := c.ByPattern[call.Argument]; known || !call.IsPattern() {
			continue
		}
		var counts workflow.StatusCounts
		err := each(`SELECT status, COUNT(*) FROM job WHERE workflow_id = ? AND stage_id IS ? AND substr(name, ?) GLOB ? GROUP BY status`, func(r sqlite.Scanner) error {
			var status workflow.JobStatus
			var n int64
			err := r.Scan(&status, &n)
			counts[status] = n
			return err
		}, in.WorkflowID, in.StageID, in.Prefix+1, strings.ReplaceAll(call.Argument, "[", "[[]"))
		if err != nil {
			return fmt.Errorf("count the jobs of workflow %d that match %q: %w", in.WorkflowID, call.Argument, err)
		}
		c.ByPattern[call.Argument] = counts
	}
	return nil
}

// ReadRuleCounts returns how many retries of a job each rule has granted.
func ReadRuleCounts(text sql.NullString) (counts map[string]workflow.RuleCount, err error) {
	if !text.Valid {
		return nil, nil
	}
	if err := json.Unmarshal([]byte(text.String), &counts); err != nil {
		return nil, fmt.Errorf("read the retry counts: %w", err)
	}
	return counts, nil
}
