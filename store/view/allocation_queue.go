package view

import (
	"context"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// QueuedAllocation is an allocation with the work it has done.
type QueuedAllocation struct {
	compute.Allocation
	WorkflowName string // empty if the workflow is deleted
	ClaimsHeld   string // why no job of the workflow is claimed; empty if jobs are
	AllocationWork
}

// AllocationWork counts what an allocation has done.
type AllocationWork struct {
	Runners   int64 // that have not left
	Running   int64 // jobs, claimed or running
	Completed int64 // attempts, as the next
	Failed    int64
}

// Queue returns the allocations of a workflow, by id; of all workflows if the id is 0.
// Ended ones are included only on request.
func (s Allocations) Queue(ctx context.Context, workflowID int64, ended bool) ([]QueuedAllocation, error) {
	if workflowID != 0 {
		if err := RequireVisible(ctx, s.DB, workflowID); err != nil {
			return nil, err
		}
	}
	tx, err := s.DB.BeginRead(ctx)
	if err != nil {
		return nil, err
	}
	defer tx.Rollback() //nolint:errcheck // a read has nothing to lose
	l := factReader{ctx: ctx, tx: tx}
	all, err := selectFacts(&l, `SELECT `+AllocationColumns+` FROM allocation
		WHERE (?1 = 0 OR workflow_id = ?1) AND (?2 OR state != 'ended') ORDER BY id`, []any{workflowID, ended}, ScanAllocation)
	if err != nil {
		return nil, fmt.Errorf("list allocations: %w", err)
	}
	queue := make([]QueuedAllocation, len(all))
	ids := make([]int64, len(all))
	for i, a := range all {
		queue[i].Allocation, ids[i] = a, a.ID
	}
	if err := l.work(queue, sqlite.IDList(ids)); err != nil {
		return nil, fmt.Errorf("count the work of %d allocations: %w", len(all), err)
	}
	return queue, nil
}

// work fills in the names of the workflows and what the allocations have done.
func (l *factReader) work(queue []QueuedAllocation, ids string) error {
	type name struct {
		id         int64
		text, held string
	}
	names, err := selectFacts(l, `SELECT w.id, w.name, `+claimsHeldOf+` FROM workflow w WHERE w.is_hidden = 0
		AND w.id IN (SELECT workflow_id FROM allocation WHERE id IN (SELECT value FROM json_each(?)))`, []any{ids},
		func(r sqlite.Scanner) (n name, err error) { return n, r.Scan(&n.id, &n.text, &n.held) })
	if err != nil {
		return err
	}
	nameOf := make(map[int64]name, len(names))
	for _, n := range names {
		nameOf[n.id] = n
	}
	type count struct {
		allocation int64
		AllocationWork
	}
	scan := func(r sqlite.Scanner) (c count, err error) {
		return c, r.Scan(&c.allocation, &c.Runners, &c.Running, &c.Completed, &c.Failed)
	}
	// Attempts are found by their jobs: those of the runs of these allocations.
	counts, err := selectFacts(l, `SELECT n.allocation_id, SUM(n.is_active), SUM((SELECT COUNT(*) FROM job j WHERE j.compute_node_id = n.id AND j.status IN {live})), 0, 0
		FROM compute_node n WHERE n.allocation_id IN (SELECT value FROM json_each(?1)) GROUP BY 1
		UNION ALL
		SELECT n.allocation_id, 0, 0, SUM(t.status = {completed}), SUM(t.status != {completed})
		FROM job j JOIN attempt t ON t.job_id = j.id JOIN compute_node n ON n.id = t.compute_node_id
		WHERE j.workflow_id IN (SELECT workflow_id FROM allocation WHERE id IN (SELECT value FROM json_each(?1)))
			AND n.allocation_id IN (SELECT value FROM json_each(?1)) GROUP BY 1`, []any{ids}, scan)
	if err != nil {
		return err
	}
	workOf := make(map[int64]AllocationWork, len(queue))
	for _, c := range counts {
		w := workOf[c.allocation]
		workOf[c.allocation] = AllocationWork{w.Runners + c.Runners, w.Running + c.Running, w.Completed + c.Completed, w.Failed + c.Failed}
	}
	for i := range queue {
		of := nameOf[queue[i].WorkflowID]
		queue[i].WorkflowName, queue[i].ClaimsHeld, queue[i].AllocationWork = of.text, of.held, workOf[queue[i].ID]
	}
	return nil
}
