package view

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

// Compensations returns the compensations of a workflow, by run.
func (s Workflows) Compensations(ctx context.Context, workflowID int64) ([]stage.Compensation, error) {
	if err := RequireVisible(ctx, s.DB, workflowID); err != nil {
		return nil, err
	}
	tx, err := s.DB.BeginRead(ctx)
	if err != nil {
		return nil, err
	}
	defer tx.Rollback() //nolint:errcheck // a read has nothing to lose
	l := factReader{ctx: ctx, tx: tx, nowMS: s.DB.Now().UnixMilli()}
	return l.compensations(workflowID)
}

func (l *factReader) compensations(workflowID int64) ([]stage.Compensation, error) {
	all, err := selectFacts(l, `SELECT workflow_id, run_id, generation, verdict, state, reason, started_ms, deadline_ms, ended_ms
		FROM compensation WHERE workflow_id = ? ORDER BY run_id`, []any{workflowID}, func(r sqlite.Scanner) (c stage.Compensation, err error) {
		return c, r.Scan(&c.WorkflowID, &c.RunID, &c.Generation, &c.Verdict, &c.State, &c.Reason, &c.StartedMS, &c.DeadlineMS, &c.EndedMS)
	})
	if err != nil || len(all) == 0 {
		return nil, err
	}
	for i := range all[:len(all)-1] { // their jobs belong to the latest run now
		all[i].Text = string(all[i].State)
	}
	jobs, err := l.compensationCounts(workflowID)
	all[len(all)-1].Describe(jobs)
	return all, err
}

// compensationOf returns the compensation of a run; nil if there is none.
func (l *factReader) compensationOf(workflowID, runID int64) (*stage.Compensation, error) {
	all, err := l.compensations(workflowID)
	if err != nil || len(all) == 0 || all[len(all)-1].RunID != runID {
		return nil, err
	}
	c := &all[len(all)-1]
	return c, l.undone(c)
}

// undone fills in the ended jobs of a compensation, with some of their names.
func (l *factReader) undone(c *stage.Compensation) error {
	const of = ` FROM stage s JOIN job j ON j.stage_id = s.id LEFT JOIN job x ON x.id = j.undoes_id
		WHERE s.workflow_id = ?1 AND s.kind = 'compensation' AND j.skipped_by IS NOT 0 AND j.status `
	for _, part := range []struct {
		jobs        **stage.UndoneJobs
		status, say string
	}{
		{&c.Undone, `= 5 AND x.id IS NOT NULL`, `x.name`},
		{&c.Failed, `IN (6, 8)`, `j.name || COALESCE((SELECT ' (' || a.cause_text || ')' FROM attempt a WHERE a.job_id = j.id AND a.run_id = ?2 ORDER BY a.attempt_id DESC LIMIT 1), '')`},
		{&c.Canceled, `= 7`, `j.name`},
	} {
		var n int64
		if err := l.row(`SELECT COUNT(*)`+of+part.status, []any{c.WorkflowID}, &n); err != nil || n == 0 {
			if err != nil {
				return err
			}
			continue
		}
		first, err := selectFacts(l, `SELECT `+part.say+of+part.status+` AND ?2 IS NOT NULL ORDER BY j.id LIMIT ?3`, []any{c.WorkflowID, c.RunID, Few}, sqlite.ScanString)
		if err != nil {
			return err
		}
		*part.jobs = &stage.UndoneJobs{Jobs: n, First: first}
	}
	return nil
}

// compensationCounts counts the jobs of compensations by status. Undo jobs that are not
// needed count as disabled, even before they are.
func (l *factReader) compensationCounts(workflowID int64) (counts workflow.StatusCounts, err error) {
	type group struct {
		status workflow.JobStatus
		n      int64
	}
	groups, err := selectFacts(l, `SELECT iif(j.skipped_by = 0, 9, j.status), COUNT(*) FROM stage s JOIN job j ON j.stage_id = s.id
		WHERE s.workflow_id = ? AND s.kind = 'compensation' GROUP BY 1`, []any{workflowID}, func(r sqlite.Scanner) (g group, err error) { return g, r.Scan(&g.status, &g.n) })
	for _, g := range groups {
		counts[g.status] = g.n
	}
	return counts, err
}

// Failed returns what the jobs of the latest compensation of a workflow receive, with a
// page of the tasks, and how many tasks there are.
func (s Workflows) Failed(ctx context.Context, workflowID int64, page sqlite.Page) (f stage.FailedWorkflow, total int64, err error) {
	if err := RequireVisible(ctx, s.DB, workflowID); err != nil {
		return f, 0, err
	}
	tx, err := s.DB.BeginRead(ctx)
	if err != nil {
		return f, 0, err
	}
	defer tx.Rollback() //nolint:errcheck // a read has nothing to lose
	var verdict workflow.EventType
	var dir sql.NullString
	var payload string
	err = tx.QueryRowContext(ctx, `SELECT w.id, w.name, w.user, w.submission_directory, c.run_id, c.generation, c.verdict, v.payload, v.at_ms
		FROM workflow w JOIN compensation c ON c.workflow_id = w.id
			JOIN verdict v ON v.workflow_id = w.id AND v.run_id = c.run_id AND v.generation = c.generation
		WHERE w.id = ? AND w.is_hidden = 0 ORDER BY c.run_id DESC LIMIT 1`, workflowID).
		Scan(&f.WorkflowID, &f.Name, &f.User, &dir, &f.RunID, &f.EndGeneration, &verdict, &payload, &f.AtMS)
	if errors.Is(err, sql.ErrNoRows) {
		return f, 0, workflow.Errorf(workflow.CodeNotFound, "workflow %d has no compensation", workflowID)
	}
	if err == nil {
		err = json.Unmarshal([]byte(payload), &f.Verdict)
	}
	if err != nil {
		return f, 0, fmt.Errorf("read the failed run of workflow %d: %w", workflowID, err)
	}
	f.Version, f.SubmissionDirectory, f.Reason, f.Status = stage.FailedWorkflowVersion, dir.String, f.Verdict.Text(), workflow.CompensateFailed
	if verdict == workflow.EventWorkflowCanceled {
		f.Status, f.Reason = workflow.CompensateCanceled, "the workflow was canceled: "+f.Reason
	}
	l := factReader{ctx: ctx, tx: tx, nowMS: s.DB.Now().UnixMilli()}
	if f.Tasks, err = l.failedTasks(workflowID, f.RunID, page); err != nil {
		return f, 0, err
	}
	err = tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM job WHERE workflow_id = ?1 AND `+BesideCompensation, workflowID).Scan(&total)
	return f, total, sqlite.Wrap(err, "count the tasks of workflow %d", workflowID)
}

// failedTasks returns the jobs of a workflow that are not in its compensation.
func (l *factReader) failedTasks(workflowID, runID int64, page sqlite.Page) ([]stage.FailedTask, error) {
	return selectFacts(l, `SELECT j.id, j.name, COALESCE(s.name, ''), j.status,
			j.status = {canceled} AND j.claimed_ms IS NOT NULL OR EXISTS (SELECT 1 FROM attempt a WHERE a.job_id = j.id AND `+Started+`),
			EXISTS (SELECT 1 FROM job v WHERE v.undoes_id = j.id AND v.status != {disabled} AND v.skipped_by IS NOT 0),
			(SELECT COUNT(*) FROM attempt x WHERE x.job_id = j.id AND x.run_id = ?2),
			a.return_code, COALESCE(a.cause, ''), COALESCE(a.cause_text, ''), COALESCE(a.hostname, '')
		FROM job j LEFT JOIN stage s ON s.id = j.stage_id LEFT JOIN attempt a ON a.job_id = j.id AND a.run_id = ?2
			AND a.attempt_id = (SELECT MAX(x.attempt_id) FROM attempt x WHERE x.job_id = j.id AND x.run_id = ?2)
		WHERE j.workflow_id = ?1 AND COALESCE(s.kind, '') != 'compensation' ORDER BY j.id LIMIT ?3 OFFSET ?4`,
		[]any{workflowID, runID, page.Limit, page.Offset}, func(r sqlite.Scanner) (t stage.FailedTask, err error) {
			return t, r.Scan(&t.ID, &t.Name, &t.Stage, &t.Status, &t.Started, &t.Undo, &t.Attempts, &t.ReturnCode, &t.Cause, &t.Text, &t.Node)
		})
}
