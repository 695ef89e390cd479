package view

import (
	"context"
	"fmt"
	"time"

	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// Supply is the allocations and the demand for them, read in one snapshot, so that a job
// claimed meanwhile is not counted twice, and a rejected allocation is not missed.
type Supply struct {
	Workflow workflow.Workflow
	Asked    []AskedAllocation         // see AskedAllocations
	Live     []compute.Allocation      // of all workflows
	Loads    map[int64]*AllocationLoad // of the workflow's allocations that have had runners, by allocation
	Demand   Demand
}

// Supply returns the demand of a workflow's jobs and the allocations for it. Jobs that
// become ready within the lead time count as ready.
func (s Scheduling) Supply(ctx context.Context, workflowID int64, lead time.Duration) (Supply, error) {
	var supply Supply
	tx, err := s.DB.BeginRead(ctx)
	if err != nil {
		return supply, err
	}
	defer tx.Rollback() //nolint:errcheck // a read has nothing to lose
	l := factReader{ctx: ctx, tx: tx, nowMS: s.DB.Now().UnixMilli()}
	supply.Workflow, err = ScanWorkflow(tx.QueryRowContext(ctx, SelectWorkflow, workflowID))
	if err != nil {
		return supply, OrNotFound(err, "workflow", workflowID)
	}
	if supply.Asked, err = selectFacts(&l, listAskedAllocations, []any{workflowID}, scanAskedAllocation); err != nil {
		return supply, fmt.Errorf("list the allocations requested by actions of workflow %d: %w", workflowID, err)
	}
	if supply.Live, err = selectFacts(&l, listLiveAllocations, nil, ScanAllocation); err != nil {
		return supply, fmt.Errorf("list live allocations: %w", err)
	}
	if supply.Loads, err = l.loads(workflowID); err != nil {
		return supply, err
	}
	supply.Demand, err = l.demand(workflowID, l.nowMS+lead.Milliseconds())
	return supply, sqlite.Wrap(err, "count the demand of workflow %d", workflowID)
}
