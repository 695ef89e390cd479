package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func newJobsRetryCommand(a *app) *cobra.Command {
	workflowText := ""
	cmd := &cobra.Command{
		Use:   "retry JOB...",
		Short: "Give jobs that have failed another attempt",
		Long: `Make jobs ready again that failed, were terminated or canceled, or are held
(pending_failed). What was canceled because of them waits for them again. The
attempts so far stay as they are, with their logs. The timeouts.total of jobs that
ended begins anew. A held job can be retried three
times in a run ("holds resolve" decides for many jobs, with a reason).

A runner that is still at work takes the jobs; otherwise "run" with the id of the
workflow does.`,
		Example: `  torc-slurm jobs retry 42
  torc-slurm jobs retry simulate_042 simulate_043 -w 12
  torc-slurm -f json jobs list -s failed 12 | jq '.items[].id' | xargs torc-slurm jobs retry`,
		Annotations: serverExits(),
		RunE: a.jobCommand(&workflowText, func(ctx context.Context, c *connection, ids []int64) error {
			var jobs []api.Job
			for _, id := range ids {
				job, err := a.retryJob(ctx, c, id)
				if err != nil {
					return afterSome(err, len(jobs), "made ready")
				}
				jobs = append(jobs, *job)
			}
			if a.format == formatTable {
				if err := a.hintAtRunner(ctx, c, jobs[0].WorkflowID); err != nil {
					return err
				}
			}
			if len(jobs) == 1 {
				j := jobs[0]
				return a.showMessage(items[api.Job]{jobs}, "Job %d (%s) is ready for attempt %s", idOf(j.ID), j.Name, orEmpty(j.AttemptID))
			}
			return a.showMessage(items[api.Job]{jobs}, "%d jobs are ready for another attempt", len(jobs))
		}),
	}
	a.addJobArguments(cmd, &workflowText, true)
	return cmd
}

// retryJob makes a job ready that did not succeed.
func (a *app) retryJob(ctx context.Context, c *connection, id int64) (*api.Job, error) {
	job, err := c.Job(ctx, id)
	if err != nil {
		return nil, err
	}
	if job.SkippedBy != nil {
		return nil, workflow.Errorf(workflow.CodeConflict, "job %d was canceled because job %d did not succeed", id, *job.SkippedBy).
			WithHint("retry job %d; this one then waits for it again", *job.SkippedBy)
	}
	w, err := c.Workflow(ctx, job.WorkflowID)
	if err != nil {
		return nil, err
	}
	if isSet(w.IsCanceled) {
		return nil, workflow.Errorf(workflow.CodeConflict, "workflow %d, which job %d is of, is canceled", job.WorkflowID, id).
			WithHint("`%s reset %d --failed-only` makes all its jobs run again that did not succeed", a.prefix(), job.WorkflowID)
	}
	switch s := statusOf(*job); s {
	case workflow.Failed, workflow.Terminated:
		return c.RetryJobAnew(ctx, id, idOf(w.RunID))
	case workflow.PendingFailed:
		return a.classifyJob(ctx, c, job, workflow.Ready)
	case workflow.Canceled:
		return c.ManageStatusChange(ctx, id, workflow.Ready, idOf(w.RunID))
	default:
		return nil, workflow.Errorf(workflow.CodeConflict, "job %d is %s: only jobs that did not succeed can be retried", id, s).
			WithHint("`%s jobs reset-status %d --reinit` makes a completed job run again", a.prefix(), id)
	}
}

// hintAtRunner tells what runs the jobs if nobody does.
func (a *app) hintAtRunner(ctx context.Context, c *connection, workflowID int64) error {
	status, err := c.WorkflowStatus(ctx, workflowID)
	if err != nil {
		return fmt.Errorf("look for runners of workflow %d: %w", workflowID, err)
	}
	if status.ActiveComputeNodes == 0 {
		a.note("Next: %s run %d", a.prefix(), workflowID)
	}
	return nil
}
