package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func newJobsDeleteCommand(a *app) *cobra.Command {
	workflowText := ""
	cmd := &cobra.Command{
		Use:         "delete JOB...",
		Short:       "Delete jobs",
		Long:        `Delete jobs, by id or by name. Jobs that depend on them do not wait for them any more.`,
		Example:     `  torc-slurm jobs delete 42 43`,
		Annotations: serverExits(),
		RunE: a.jobCommand(&workflowText, func(ctx context.Context, c *connection, ids []int64) error {
			var deleted []api.Job
			for _, id := range ids {
				job, err := c.DeleteJob(ctx, id)
				if err != nil {
					return afterSome(err, len(deleted), "deleted")
				}
				deleted = append(deleted, *job)
			}
			return a.showMessage(items[api.Job]{deleted}, "Deleted %s", workflow.CountOf(int64(len(deleted)), "job", "jobs"))
		}),
	}
	a.addJobArguments(cmd, &workflowText, true)
	return cmd
}

// items is a list as all commands write it in JSON.
type items[T any] struct {
	Items []T `json:"items"`
}

// afterSome says how far a command came before an error.
func afterSome(err error, n int, done string) error {
	if n == 0 {
		return err
	}
	return fmt.Errorf("%s before: %w", workflow.CountOf(int64(n), "was "+done, "were "+done), err)
}

func newJobsDeleteAllCommand(a *app) *cobra.Command {
	var noPrompts bool
	cmd := &cobra.Command{
		Use:   "delete-all [WORKFLOW]",
		Short: "Delete all jobs of a workflow",
		Example: `  torc-slurm jobs delete-all 12
  torc-slurm jobs delete-all 12 --no-prompts`,
		Args:              cobra.MaximumNArgs(1),
		Annotations:       serverExits(),
		ValidArgsFunction: a.completeWorkflows(1),
	}
	cmd.RunE = a.workflowCommand(func(ctx context.Context, c *connection, id int64) error {
		ids, err := c.JobIDs(ctx, id)
		if err != nil {
			return err
		}
		question := fmt.Sprintf("Delete %s of workflow %d?", workflow.CountOf(int64(len(ids)), "job", "jobs"), id)
		if yes, err := a.confirm(noPrompts, question); err != nil || !yes {
			return err
		}
		n, err := c.DeleteJobs(ctx, id)
		if err != nil {
			return err
		}
		return a.showMessage(api.DeleteCount{Count: n}, "Deleted %s", workflow.CountOf(n, "job", "jobs"))
	})
	addNoPrompts(cmd.Flags(), &noPrompts)
	return cmd
}
