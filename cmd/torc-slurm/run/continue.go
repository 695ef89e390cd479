package run

import (
	"context"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/runstart"
	"github.com/torc-slurm/torc-slurm/runner"
)

// reportAsIs reports a workflow in which nothing has to run.
func reportAsIs(ctx context.Context, a *cli.Factory, c *cli.Connection, id int64, flags runFlags) error {
	status, err := c.Workflows.Status(ctx, id)
	if err != nil {
		return err
	}
	return reportEnd(ctx, a, c, id, newProgress(id, status.WorkflowName, a.Now()), runner.Summary{Complete: true}, flags)
}

// continueWorkflow continues an existing workflow. Of one that has ended it reports the end.
func continueWorkflow(ctx context.Context, a *cli.Factory, c *cli.Connection, id int64, options runner.Options, flags runFlags) error {
	rejection := runstart.Ensure(ctx, a, c, id, false)
	status, err := c.Workflows.Status(ctx, id)
	switch {
	case err != nil:
		return err
	case rejection != nil && status.IsComplete && !status.IsCanceled && status.TotalJobs > 0:
		a.Note("Workflow %d has ended; `%s reset %d` makes it runnable again.", id, cli.Prefix(a), id)
		return reportEnd(ctx, a, c, id, newProgress(id, status.WorkflowName, a.Now()), runner.Summary{Complete: true}, flags)
	case rejection != nil:
		return rejection
	case status.Compensation != nil && !status.Compensation.State.IsOver():
		a.Note("Continuing the compensation of workflow %d", id)
	default:
		a.Note("Continuing workflow %d", id)
	}
	return work(ctx, a, c, id, options, flags)
}
