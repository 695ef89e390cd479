package jobs

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/apidata"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func newFail(a *cli.Factory) *cobra.Command {
	workflowText := ""
	cmd := &cobra.Command{
		Use:   "fail JOB...",
		Short: "Mark held jobs as failed",
		Long: `Decide that held jobs (pending_failed) have failed. The jobs that depend on them are
canceled, unless they are to run even then. The workflow ends if no other job is
open. "jobs retry" gives held jobs another attempt instead.`,
		Example: `  torc-slurm jobs fail 42
  torc-slurm -f json jobs list -s pending_failed 12 | jq '.items[].id' | xargs torc-slurm jobs fail`,
		Annotations: cli.ServerExits(),
		RunE: a.JobCommand(&workflowText, func(ctx context.Context, c *cli.Connection, ids []int64) error {
			var jobs []api.Job
			for _, id := range ids {
				job, err := failJob(ctx, a, c, id)
				if err != nil {
					return afterSome(err, len(jobs), "marking %s as failed")
				}
				jobs = append(jobs, *job)
			}
			if len(jobs) == 1 {
				return a.ShowMessage(items[api.Job]{jobs}, "Job %d (%s) has failed", cli.OrZero(jobs[0].ID), jobs[0].Name)
			}
			return a.ShowMessage(items[api.Job]{jobs}, "%d jobs have failed", len(jobs))
		}),
	}
	a.AddJobArguments(cmd, &workflowText, true)
	return cmd
}

// failJob decides that a held job has failed.
func failJob(ctx context.Context, a *cli.Factory, c *cli.Connection, id int64) (*api.Job, error) {
	job, err := c.Jobs.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	if s := apidata.StatusOf(*job); s != workflow.PendingFailed {
		return nil, workflow.Errorf(workflow.CodeConflict, "job %d is %s: only held jobs (pending_failed) can be marked as failed", id, s).
			WithHint("`%s jobs list -s pending_failed %d` lists them", cli.Prefix(a), job.WorkflowID)
	}
	return classifyJob(ctx, c, job, workflow.Failed)
}

// classifyJob ends the hold of a job.
func classifyJob(ctx context.Context, c *cli.Connection, job *api.Job, to workflow.JobStatus) (*api.Job, error) {
	return c.Jobs.Update(ctx, cli.OrZero(job.ID), &api.Job{WorkflowID: job.WorkflowID, Name: job.Name, Command: job.Command, Status: &to})
}
