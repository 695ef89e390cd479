package view

import (
	"context"

	"github.com/torc-slurm/torc-slurm/store/row"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

// Stages returns the stages of a workflow with their job counts, each after the stage that
// contains it.
func (s Workflows) Stages(ctx context.Context, workflowID int64) ([]stage.Stage, error) {
	tx, err := s.DB.BeginRead(ctx)
	if err != nil {
		return nil, err
	}
	defer tx.Rollback() //nolint:errcheck // a read has nothing to lose
	l := factReader{ctx: ctx, tx: tx}
	var one int
	err = l.row(`SELECT 1 FROM workflow WHERE id = ? AND is_hidden = 0`, []any{workflowID}, &one)
	if err := OrNotFound(err, "workflow", workflowID); err != nil {
		return nil, err
	}
	all, err := l.stages(`s.workflow_id = ?`, workflowID)
	return all, sqlite.Wrap(err, "read the stages of workflow %d", workflowID)
}

// stages reads the stages that meet a condition, with their job counts.
func (l *factReader) stages(condition string, args ...any) ([]stage.Stage, error) {
	rows, err := selectFacts(l, `SELECT `+row.StageColumns+` FROM `+row.StageTables+` WHERE `+condition+` ORDER BY s.id`, args, row.ScanStage)
	if err != nil {
		return nil, err
	}
	if err := l.endCanceled(rows); err != nil {
		return nil, err
	}
	byID, ids, all := map[int64]int{}, make([]int64, len(rows)), make([]stage.Stage, len(rows))
	for i := range rows {
		all[i], ids[i], byID[rows[i].ID] = rows[i].Stage, rows[i].ID, i
	}
	type group struct {
		stage, n int64
		status   workflow.JobStatus
	}
	groups, err := selectFacts(l, `SELECT stage_id, status, COUNT(*) FROM job WHERE stage_id IN (SELECT value FROM json_each(?)) GROUP BY stage_id, status`,
		[]any{sqlite.IDList(ids)}, func(r sqlite.Scanner) (g group, err error) { return g, r.Scan(&g.stage, &g.status, &g.n) })
	if err != nil {
		return nil, err
	}
	for _, g := range groups {
		all[byID[g.stage]].Counts[g.status] = g.n
	}
	return all, l.awaited(all)
}

// endCanceled marks the running stages of a canceled run as ended, since nothing in them
// continues. A reset starts them again.
func (l *factReader) endCanceled(rows []row.Stage) error {
	for i := range rows {
		s := &rows[i].Stage
		if s.State != stage.Running || s.Kind == workflow.StageCompensation {
			continue
		}
		var canceled bool
		if err := l.row(`SELECT is_canceled FROM workflow WHERE id = ?`, []any{s.WorkflowID}, &canceled); err != nil || !canceled {
			return err // all belong to one workflow
		}
		s.State = stage.Ended
	}
	return nil
}

// CountRunningStages counts the running sub-workflow jobs of workflow ?1, which no runner
// holds.
const CountRunningStages = `SELECT COUNT(*) FROM stage s JOIN job p ON p.child_id = s.id AND p.status = {running} WHERE s.workflow_id = ?1`
