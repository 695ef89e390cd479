package view

import (
	"context"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// Uses returns the allocations of a workflow in all its runs, by id, with what they were used for:
// attempts that have ended, and those that run now. It returns CodeNotFound for an unknown workflow.
func (s Allocations) Uses(ctx context.Context, workflowID int64) ([]compute.AllocationUse, error) {
	if err := RequireVisible(ctx, s.DB, workflowID); err != nil {
		return nil, err
	}
	tx, err := s.DB.BeginRead(ctx)
	if err != nil {
		return nil, err
	}
	defer tx.Rollback() //nolint:errcheck // a read has nothing to lose
	l := factReader{ctx: ctx, tx: tx, nowMS: s.DB.Now().UnixMilli()}
	all, err := selectFacts(&l, `SELECT `+AllocationColumns+` FROM allocation WHERE workflow_id = ? AND is_duplicate = 0 ORDER BY id`, []any{workflowID}, ScanAllocation)
	if err != nil {
		return nil, fmt.Errorf("read the allocations of workflow %d: %w", workflowID, err)
	}
	type use struct{ allocation, cpus, jobCPUMS int64 }
	sums, err := selectFacts(&l, `WITH node AS (SELECT n.id, a.id AS allocation, n.num_cpus * n.num_nodes AS cpus
			FROM allocation a JOIN compute_node n ON n.allocation_id = a.id WHERE a.workflow_id = ?1)
		SELECT allocation, SUM(cpus), 0 FROM node GROUP BY 1
		UNION ALL
		SELECT node.allocation, 0, SUM((t.end_ms - t.start_ms) * q.num_cpus * MAX(q.num_nodes, 1))
		FROM job j JOIN claim_class k ON k.id = j.class_id JOIN resource_requirements q ON q.id = k.requirements_id JOIN attempt t ON t.job_id = j.id JOIN node ON node.id = t.compute_node_id
		WHERE j.workflow_id = ?1 AND t.start_ms IS NOT NULL GROUP BY 1
		UNION ALL
		SELECT node.allocation, 0, SUM((?2 - j.start_ms) * q.num_cpus * MAX(q.num_nodes, 1))
		FROM job j JOIN claim_class k ON k.id = j.class_id JOIN resource_requirements q ON q.id = k.requirements_id JOIN node ON node.id = j.compute_node_id
		WHERE j.workflow_id = ?1 AND j.status IN {live} AND j.start_ms IS NOT NULL GROUP BY 1`, []any{workflowID, l.nowMS},
		func(r sqlite.Scanner) (u use, err error) { return u, r.Scan(&u.allocation, &u.cpus, &u.jobCPUMS) })
	if err != nil {
		return nil, fmt.Errorf("read what the allocations of workflow %d were used for: %w", workflowID, err)
	}
	byID := make(map[int64]use, len(all))
	for _, u := range sums {
		byID[u.allocation] = use{cpus: byID[u.allocation].cpus + u.cpus, jobCPUMS: byID[u.allocation].jobCPUMS + u.jobCPUMS}
	}
	uses := make([]compute.AllocationUse, len(all))
	for i := range all {
		u := byID[all[i].ID]
		uses[i] = compute.AllocationUse{Allocation: all[i], CPUs: u.cpus, JobCPUSeconds: max(u.jobCPUMS, 0) / 1000}
	}
	return uses, nil
}
