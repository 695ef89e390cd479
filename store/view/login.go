package view

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// countLiveLogin counts the live jobs of workflow ?1 that run only on the daemon's host.
const countLiveLogin = `SELECT COUNT(*) FROM claim_class c JOIN job j ON j.class_id = c.id AND j.status IN {live} WHERE c.workflow_id = ?1 AND c.login = 1`

// LoginWork describes jobs that the daemon runs on its own host.
type LoginWork struct {
	WorkflowID int64
	OutputDir  string // of the runners of this run
	Dir        string // working directory of the jobs
}

// LoginWork returns the workflows with claimable jobs that run only on the daemon's host,
// and without a runner there that could run them.
func (s Runners) LoginWork(ctx context.Context) ([]LoginWork, error) {
	tx, err := s.DB.BeginRead(ctx)
	if err != nil {
		return nil, err
	}
	defer tx.Rollback() //nolint:errcheck // a read has nothing to lose
	l := factReader{ctx: ctx, tx: tx, nowMS: s.DB.Now().UnixMilli()}
	ids, err := selectFacts(&l, `SELECT DISTINCT c.workflow_id FROM claim_class c JOIN workflow w ON w.id = c.workflow_id
		WHERE c.login = 1 AND c.held = 0 AND w.is_canceled = 0 AND w.is_hidden = 0 AND EXISTS (SELECT 1 FROM job j WHERE j.class_id = c.id AND j.status = {ready} AND j.not_before_ms <= ?)
			AND NOT EXISTS (SELECT 1 FROM claim_hold h WHERE h.workflow_id = w.id AND `+HoldBinds+` AND (h.until_ms = 0 OR h.until_ms > ?1)) ORDER BY 1`,
		[]any{l.nowMS}, ScanID)
	if err != nil {
		return nil, fmt.Errorf("list workflows with jobs for this host: %w", err)
	}
	var work []LoginWork
	for _, id := range ids {
		w, needed, err := l.loginWork(id)
		if err != nil {
			return nil, fmt.Errorf("read the jobs of workflow %d for this host: %w", id, err)
		}
		if needed {
			work = append(work, w)
		}
	}
	return work, nil
}

// loginWork returns the directories of a runner for the jobs of a workflow on this host,
// and whether one is needed.
func (l *factReader) loginWork(id int64) (w LoginWork, needed bool, err error) {
	runners, err := l.runners(id)
	if err != nil {
		return w, false, err
	}
	classes, err := l.classes(id, 0)
	if err != nil {
		return w, false, err
	}
	for _, c := range classes {
		needed = needed || c.Class.Login && placement.Unplaced(c.Class, runners) != ""
	}
	if !needed {
		return w, false, nil
	}
	w.WorkflowID = id
	var dir sql.NullString
	if err := l.row(`SELECT submission_directory FROM workflow WHERE id = ?`, []any{id}, &dir); err != nil {
		return w, false, err
	}
	err = l.row(outputDirOf, []any{id}, &w.OutputDir)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return w, false, err
	}
	if w.Dir = dir.String; !filepath.IsAbs(w.Dir) {
		w.Dir = filepath.Dir(w.OutputDir)
	}
	if w.OutputDir == "" {
		w.OutputDir = filepath.Join(w.Dir, "torc_output")
	}
	return w, true, nil
}

// outputDirOf selects the output directory of workflow ?1: that of its submission, or of its
// latest runner.
const outputDirOf = `SELECT d FROM (
		SELECT 0 AS k, 0 AS n, s.options ->> '$.output_dir' AS d FROM submission s JOIN workflow w ON w.id = s.workflow_id AND w.run_id = s.run_id WHERE w.id = ?1
		UNION ALL SELECT 1, -id, output_dir FROM compute_node WHERE workflow_id = ?1 AND output_dir != '')
	ORDER BY k, n LIMIT 1`
