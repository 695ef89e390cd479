package client

import (
	"context"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

// Compensations lists the compensations of a workflow, by run.
func (c Workflows) Compensations(ctx context.Context, workflowID int64) ([]stage.Compensation, error) {
	out, err := get[api.Compensations](ctx, c, "/workflows/%d/compensations", workflowID)
	if err != nil {
		return nil, err
	}
	return out.Compensations, nil
}

// FailedWorkflow returns the facts about the run that the jobs of the latest compensation
// of a workflow get, with all tasks.
func (c Runners) FailedWorkflow(ctx context.Context, workflowID int64) (*stage.FailedWorkflow, error) {
	var all *stage.FailedWorkflow
	for {
		n := 0
		if all != nil {
			n = len(all.Tasks)
		}
		page, err := get[api.FailedWorkflowPage](ctx, c, "/workflows/%d/failed_workflow?offset=%d", workflowID, n)
		if err != nil {
			return nil, err
		}
		if all == nil {
			all = &page.Workflow
		} else {
			all.Tasks = append(all.Tasks, page.Workflow.Tasks...)
		}
		if len(page.Workflow.Tasks) == 0 || int64(len(all.Tasks)) >= page.TotalTasks {
			return all, nil
		}
	}
}
