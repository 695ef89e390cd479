package run

import (
	"context"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/apidata"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/runstart"
	"github.com/torc-slurm/torc-slurm/runner"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// continueWorkflow continues an existing workflow.
func continueWorkflow(ctx context.Context, a *cli.Factory, c *cli.Connection, id int64, options runner.Options, flags runFlags) error {
	status, err := c.Workflows.Status(ctx, id)
	if err != nil {
		return err
	}
	counts := status.JobsByStatus
	switch {
	case status.TotalJobs == 0:
		return workflow.Errorf(workflow.CodeConflict, "workflow %d has no jobs", id)
	case status.Compensation != nil && !status.Compensation.State.IsOver():
		a.Note("Continuing the compensation of workflow %d", id)
		return work(ctx, a, c, id, options, flags)
	case status.IsCanceled:
		return workflow.Errorf(workflow.CodeConflict, "workflow %d is canceled", id).
			WithHint("`%s reset --failed-only %d` makes it runnable again", cli.Prefix(a), id)
	case counts.Uninitialized > 0:
		if err := runstart.CheckStoredInputs(ctx, a, c, id); err != nil {
			return err
		}
		all := counts.Uninitialized+counts.Disabled == status.TotalJobs
		if begun, err := runstart.Begin(ctx, a, c, status, !all); err != nil {
			return err
		} else if !begun {
			return continueWorkflow(ctx, a, c, id, options, flags)
		}
	case apidata.CountDone(counts) == status.TotalJobs:
		a.Note("Workflow %d has ended; `%s reset %d` makes it runnable again.", id, cli.Prefix(a), id)
		return reportEnd(ctx, a, c, id, newProgress(id, status.WorkflowName, a.Now()), runner.Summary{Complete: true}, flags)
	}
	a.Note("Continuing workflow %d", id)
	return work(ctx, a, c, id, options, flags)
}
