package view

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// OpenClass counts the jobs of a claim class that are still to be claimed in this run.
type OpenClass struct {
	Class        placement.Class
	Requirements string // the name of the requirements
	Jobs         int64
	First        string // the name of the job with the lowest id
}

// OpenClasses returns the claim classes of a workflow that are wanted and have open jobs,
// by id. It counts jobs only in these, so that asking for few classes is fast in large
// workflows.
func (s Scheduling) OpenClasses(ctx context.Context, workflowID int64, wanted func(placement.Class) bool) ([]OpenClass, error) {
	tx, err := s.DB.BeginRead(ctx)
	if err != nil {
		return nil, err
	}
	defer tx.Rollback() //nolint:errcheck // a read has nothing to lose
	l := factReader{ctx: ctx, tx: tx, nowMS: s.DB.Now().UnixMilli()}
	all, err := selectFacts(&l, SelectClasses+`WHERE c.workflow_id = ? ORDER BY c.id`, []any{workflowID}, ScanClass)
	if err != nil {
		return nil, fmt.Errorf("read the claim classes of workflow %d: %w", workflowID, err)
	}
	var open []OpenClass
	for _, c := range all {
		if !wanted(c.Class) {
			continue
		}
		o := OpenClass{Class: c.Class, Requirements: c.Requirements}
		// A job that stands for a sub-workflow is not claimed itself. The name is from the
		// row with the lowest id: SQLite guarantees this for a single MIN.
		var first sql.NullInt64
		err := l.row(`SELECT COUNT(*), MIN(id), COALESCE(name, '') FROM job WHERE class_id = ? AND status IN ({uninitialized}, {blocked}, {ready}) AND child_id IS NULL`,
			[]any{c.ID}, &o.Jobs, &first, &o.First)
		if err != nil {
			return nil, fmt.Errorf("count the open jobs of claim class %d: %w", c.ID, err)
		}
		if o.Jobs > 0 {
			open = append(open, o)
		}
	}
	return open, nil
}

// RunnerFacts returns the resources of the live runners of a workflow.
func (s Scheduling) RunnerFacts(ctx context.Context, workflowID int64) ([]placement.RunnerFacts, error) {
	tx, err := s.DB.BeginRead(ctx)
	if err != nil {
		return nil, err
	}
	defer tx.Rollback() //nolint:errcheck // a read has nothing to lose
	l := factReader{ctx: ctx, tx: tx, nowMS: s.DB.Now().UnixMilli()}
	runners, err := l.runners(workflowID)
	return runners, sqlite.Wrap(err, "list the live runners of workflow %d", workflowID)
}

// Class returns what jobs with the named requirements need; the zero value if there are no
// such requirements.
func (s Requirements) Class(ctx context.Context, workflowID int64, name string) (c placement.Class, err error) {
	err = s.DB.Read.QueryRowContext(ctx, `SELECT num_cpus, num_gpus, num_nodes, memory_bytes, runtime_s FROM resource_requirements
		WHERE workflow_id = ? AND name = ? ORDER BY id LIMIT 1`, workflowID, name).Scan(&c.CPUs, &c.GPUs, &c.Nodes, &c.MemoryBytes, &c.RuntimeSeconds)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return c, fmt.Errorf("read the requirements %q of workflow %d: %w", name, workflowID, err)
	}
	return c, nil
}
