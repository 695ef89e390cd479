package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// workflowReset is what workflows reset-status says in JSON.
type workflowReset struct {
	Status     string          `json:"status"`
	WorkflowID int64           `json:"workflow_id"`
	Operations map[string]bool `json:"operations"`
	FailedOnly bool            `json:"failed_only"`
	Messages   []string        `json:"messages"`
}

// newResetCommand is workflows reset-status at the top.
func newResetCommand(a *app) *cobra.Command {
	c := newWorkflowsResetStatusCommand(a, "reset [WORKFLOW]")
	c.GroupID = groupLifecycle
	return c
}

// newWorkflowsResetStatusCommand makes workflows reset-status.
func newWorkflowsResetStatusCommand(a *app, use string) *cobra.Command {
	var failedOnly, reinitialize, force, noPrompts bool
	cmd := &cobra.Command{
		Use:   use,
		Short: "Make the jobs of a workflow run again",
		Long: `Begin a new run of a workflow: all its jobs become uninitialized, or, with
--failed-only, those that failed, were terminated or canceled, and what depends
on them. "run" with the id of the workflow then runs them.

It is refused while something of the workflow is running, unless --force is given.`,
		Example: `  torc-slurm reset 12 --failed-only
  torc-slurm workflows reset-status 12 --reinitialize --no-prompts`,
		Args:              cobra.MaximumNArgs(1),
		Annotations:       serverExits(),
		ValidArgsFunction: a.completeWorkflows(1),
	}
	f := cmd.Flags()
	f.BoolVar(&failedOnly, "failed-only", false, "only jobs that did not succeed, and what depends on them")
	f.BoolVarP(&reinitialize, "reinitialize", "r", false, "initialize the jobs afterwards, so that runners can take them")
	f.BoolVar(&force, "force", false, "although something is running")
	addNoPrompts(f, &noPrompts)
	cmd.RunE = a.workflowCommand(func(ctx context.Context, c *connection, id int64) error {
		w, err := c.Workflow(ctx, id)
		if err != nil {
			return err
		}
		what := "all jobs"
		if failedOnly {
			what = "the jobs that did not succeed"
		}
		if yes, err := a.confirm(noPrompts, fmt.Sprintf("Reset %s of workflow %d (%s)?", what, id, w.Name)); err != nil || !yes {
			return err
		}
		result := workflowReset{
			Status: "success", WorkflowID: id, FailedOnly: failedOnly,
			Operations: map[string]bool{"reset_workflow_status": true, "reset_job_status": true, "reinitialize": reinitialize},
		}
		if w, err = c.ResetStatusAt(ctx, id, idOf(w.RunID), force); err != nil {
			return err
		}
		jobs, err := c.ResetJobStatus(ctx, id, failedOnly)
		if err != nil {
			return err
		}
		result.Messages = []string{
			fmt.Sprintf("Workflow %d is ready for run %s", id, orEmpty(w.RunID)),
			fmt.Sprintf("Reset %s", workflow.CountOf(jobs.UpdatedCount, "job", "jobs")),
		}
		if reinitialize {
			if err := c.Initialize(ctx, id, true); err != nil {
				return err
			}
			result.Messages = append(result.Messages, "Initialized the jobs")
		}
		return a.showMessage(result, "%s", joinedLines(result.Messages))
	})
	return cmd
}
