package view

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/explain"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
)

// FailureGroups returns the largest groups of jobs of a workflow that failed alike in this
// run, at most limit, and how many groups and jobs there are: those that failed, were
// terminated, or are held because they failed. Compensations are not counted.
func (s Workflows) FailureGroups(ctx context.Context, id, limit int64) (groups []hold.FailureGroup, total, jobs int64, err error) {
	if err := RequireVisible(ctx, s.DB, id); err != nil {
		return nil, 0, 0, err
	}
	tx, err := s.DB.BeginRead(ctx)
	if err != nil {
		return nil, 0, 0, err
	}
	defer tx.Rollback() //nolint:errcheck // a read has nothing to lose
	l := factReader{ctx: ctx, tx: tx, nowMS: s.DB.Now().UnixMilli()}
	groups, total, jobs, err = l.failureGroups(id, limit)
	return groups, total, jobs, sqlite.Wrap(err, "group the failures of workflow %d", id)
}

// failureGroups groups by fingerprint, and attempts without one by cause and return code. It
// reads the evidence of one attempt of each returned group.
func (l *factReader) failureGroups(id, limit int64) (groups []hold.FailureGroup, total, jobs int64, err error) {
	var text string
	groups, err = selectFacts(l, `SELECT g.alike, g.n, g.attempts, g.first, f.name, l.name, g.total, g.jobs FROM (
		SELECT COALESCE(a.fingerprint, '') AS alike, COUNT(*) AS n, SUM(j.attempt_id) AS attempts, MIN(j.id) AS first, MAX(j.id) AS last,
			COUNT(*) OVER () AS total, SUM(COUNT(*)) OVER () AS jobs
		FROM job j JOIN workflow w ON w.id = j.workflow_id JOIN attempt a ON a.job_id = j.id AND a.run_id = w.run_id AND a.attempt_id = j.attempt_id
		WHERE j.workflow_id = ?1 AND j.status IN ({failed}, {canceled}, {terminated}, {pending_failed}) AND j.status != {canceled}
			AND (j.stage_id IS NULL OR j.stage_id NOT IN (SELECT id FROM stage WHERE workflow_id = ?1 AND kind = 'compensation'))
		GROUP BY COALESCE(a.fingerprint, a.cause || ' ' || a.return_code) ORDER BY n DESC, first LIMIT ?2) g
			JOIN job f ON f.id = g.first JOIN job l ON l.id = g.last ORDER BY g.n DESC, g.first`, []any{id, limit},
		func(r sqlite.Scanner) (g hold.FailureGroup, err error) {
			return g, r.Scan(&g.Fingerprint, &g.Count, &g.Attempts, &g.FirstID, &g.FirstName, &g.LastName, &total, &jobs)
		})
	if err != nil {
		return nil, 0, 0, err
	}
	for i := range groups {
		g := &groups[i]
		var c workflow.Cause
		var evidence sql.NullString
		err := l.row(`SELECT a.cause, a.return_code, a.cause_text, a.evidence FROM job j JOIN workflow w ON w.id = j.workflow_id
			JOIN attempt a ON a.job_id = j.id AND a.run_id = w.run_id AND a.attempt_id = j.attempt_id WHERE j.id = ?`, []any{g.FirstID}, &c.Kind, &c.ReturnCode, &text, &evidence)
		if err != nil {
			return nil, 0, 0, err
		}
		c.Text = text
		var e workflow.Evidence
		if evidence.Valid {
			if err := json.Unmarshal([]byte(evidence.String), &e); err != nil {
				return nil, 0, 0, fmt.Errorf("read the evidence of job %d: %w", g.FirstID, err)
			}
		}
		g.Describe(c, e)
		g.Advice = explain.AdviceFor(g.Cause).Sentence(id)
	}
	return groups, total, jobs, nil
}
