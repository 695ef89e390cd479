package view

import (
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/retry"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

// attempts counts the ended attempts of a run.
func (l *factReader) attempts(workflowID, runID, failed int64) (c stage.AttemptCounts, err error) {
	_, err = selectFacts(l, `SELECT cause, n, retried FROM cause_count WHERE workflow_id = ? AND run_id = ? AND n > 0`, []any{workflowID, runID},
		func(r sqlite.Scanner) (none struct{}, err error) {
			var cause workflow.CauseKind
			var n, retried int64
			err = r.Scan(&cause, &n, &retried)
			c.Ended += n
			c.Retried += retried
			if cause != workflow.CauseOK {
				if c.ByCause == nil {
					c.ByCause = map[workflow.CauseKind]int64{}
				}
				c.ByCause[cause] = n
			}
			return none, err
		})
	if err != nil {
		return c, err
	}
	if c.Retried > 0 {
		err = l.row(`SELECT COUNT(DISTINCT a.job_id) FROM attempt a JOIN job j ON j.id = a.job_id AND j.status = {completed}
			WHERE a.workflow_id = ? AND a.run_id = ? AND a.status IN ({failed}, {terminated}) AND a.action IN ('retry', 'recover')`, []any{workflowID, runID}, &c.Repaired)
		if err != nil {
			return c, err
		}
	}
	c.PoliciesOff, err = l.policiesOff(workflowID, runID, failed)
	return c, err
}

// allocationReasons returns why the latest allocation of each scheduler of a run was
// requested.
func (l *factReader) allocationReasons(workflowID, runID int64) ([]string, error) {
	return selectFacts(l, `SELECT iif(COALESCE(s.name, '') = '', '', s.name || ': ') || a.why FROM allocation a LEFT JOIN slurm_scheduler s ON s.id = a.scheduler_config_id
		WHERE a.why != '' AND a.id IN (SELECT MAX(id) FROM allocation WHERE workflow_id = ? AND run_id = ? GROUP BY scheduler_config_id) ORDER BY a.id DESC LIMIT ?`,
		[]any{workflowID, runID, Few}, sqlite.ScanString)
}

// endedBy returns the job because of which another was canceled; nil if there is none.
func (l *factReader) endedBy(j *workflow.Job) (*workflow.Culprit, error) {
	if j.Status != workflow.Canceled {
		return nil, nil
	}
	var text sql.NullString
	if err := l.row(`SELECT (SELECT ended_by FROM job WHERE id = ? AND cancel_fence = fence AND cancel_for IS NULL)`, []any{j.ID}, &text); err != nil {
		return nil, err
	}
	return ReadCulprit(text)
}

// policiesOff counts the attempts of a run for which no retry policy was consulted because
// policies are off. It only reads if jobs failed or are held.
func (l *factReader) policiesOff(workflowID, runID, failed int64) (n int64, err error) {
	if failed == 0 {
		return 0, nil
	}
	return n, l.row(`SELECT COUNT(*) FROM attempt WHERE workflow_id = ? AND run_id = ? AND status IN ({failed}, {terminated}) AND instr(reason, ?) > 0`,
		[]any{workflowID, runID, retry.PoliciesOff}, &n)
}

// canceledBy returns the jobs because of which others were canceled, for the few largest
// groups.
func (l *factReader) canceledBy(workflowID, canceled int64) ([]stage.CanceledGroup, error) {
	if canceled == 0 {
		return nil, nil
	}
	return selectFacts(l, `SELECT c.skipped_by, c.ended_by, c.n, c.name, COALESCE(x.name, '') FROM (
			SELECT COALESCE(skipped_by, 0) AS skipped_by, iif(cancel_fence = fence AND cancel_for IS NULL, ended_by, NULL) AS ended_by, COUNT(*) AS n, MIN(id), name
			FROM job WHERE workflow_id = ? AND status = {canceled} GROUP BY 1, 2) c LEFT JOIN job x ON x.id = c.skipped_by
		WHERE c.skipped_by > 0 OR c.ended_by IS NOT NULL ORDER BY c.n DESC, c.skipped_by, c.ended_by LIMIT ?`, []any{workflowID, Few},
		func(r sqlite.Scanner) (g stage.CanceledGroup, err error) {
			var skippedBy int64
			var endedBy sql.NullString
			var name string
			if err := r.Scan(&skippedBy, &endedBy, &g.Jobs, &g.Example, &name); err != nil {
				return g, err
			}
			if skippedBy > 0 {
				g.Culprit = workflow.Culprit{JobID: skippedBy, JobName: name, Rule: stage.ByDependency}
				return g, nil
			}
			c, err := ReadCulprit(endedBy)
			if err == nil {
				g.Culprit = *c
			}
			return g, err
		})
}

// ReadCulprit reads because of which job another is ended; nil if none is recorded.
func ReadCulprit(text sql.NullString) (*workflow.Culprit, error) {
	if !text.Valid {
		return nil, nil
	}
	c := &workflow.Culprit{}
	if err := json.Unmarshal([]byte(text.String), c); err != nil {
		return nil, fmt.Errorf("read the job that caused a cancellation: %w", err)
	}
	return c, nil
}
