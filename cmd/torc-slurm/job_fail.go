package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func newJobsFailCommand(a *app) *cobra.Command {
	workflowText := ""
	cmd := &cobra.Command{
		Use:   "fail JOB...",
		Short: "Let jobs that are held fail",
		Long: `Decide that jobs that are held (pending_failed) have failed. The jobs behind them
are canceled, or run all the same if they are to; a workflow of which nothing else
is open ends. "jobs retry" decides the other way.`,
		Example: `  torc-slurm jobs fail 42
  torc-slurm -f json jobs list -s pending_failed 12 | jq '.items[].id' | xargs torc-slurm jobs fail`,
		Annotations: serverExits(),
		RunE: a.jobCommand(&workflowText, func(ctx context.Context, c *connection, ids []int64) error {
			var jobs []api.Job
			for _, id := range ids {
				job, err := a.failJob(ctx, c, id)
				if err != nil {
					return afterSome(err, len(jobs), "failed")
				}
				jobs = append(jobs, *job)
			}
			if len(jobs) == 1 {
				return a.showMessage(items[api.Job]{jobs}, "Job %d (%s) has failed", idOf(jobs[0].ID), jobs[0].Name)
			}
			return a.showMessage(items[api.Job]{jobs}, "%d jobs have failed", len(jobs))
		}),
	}
	a.addJobArguments(cmd, &workflowText, true)
	return cmd
}

// failJob decides that a held job has failed.
func (a *app) failJob(ctx context.Context, c *connection, id int64) (*api.Job, error) {
	job, err := c.Job(ctx, id)
	if err != nil {
		return nil, err
	}
	if s := statusOf(*job); s != workflow.PendingFailed {
		return nil, workflow.Errorf(workflow.CodeConflict, "job %d is %s: only a job that is held (pending_failed) can be let fail", id, s).
			WithHint("`%s jobs list -s pending_failed %d` lists them", a.prefix(), job.WorkflowID)
	}
	return a.classifyJob(ctx, c, job, workflow.Failed)
}

// classifyJob ends the hold of a job.
func (a *app) classifyJob(ctx context.Context, c *connection, job *api.Job, to workflow.JobStatus) (*api.Job, error) {
	return c.UpdateJob(ctx, idOf(job.ID), &api.Job{WorkflowID: job.WorkflowID, Name: job.Name, Command: job.Command, Status: &to})
}
