package workflows

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// workflowReset is the JSON output of workflows reset-status.
type workflowReset struct {
	Status     string          `json:"status"`
	WorkflowID int64           `json:"workflow_id"`
	Operations map[string]bool `json:"operations"`
	FailedOnly bool            `json:"failed_only"`
	Messages   []string        `json:"messages"`
}

// NewReset returns workflows reset-status as a top-level command.
func NewReset(a *cli.Factory) *cobra.Command {
	c := newResetStatus(a, "reset [WORKFLOW]")
	c.GroupID = cli.GroupLifecycle
	return c
}

// newResetStatus returns workflows reset-status.
func newResetStatus(a *cli.Factory, use string) *cobra.Command {
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
		Annotations:       cli.ServerExits(),
		ValidArgsFunction: cli.CompleteWorkflows(a, 1),
	}
	f := cmd.Flags()
	f.BoolVar(&failedOnly, "failed-only", false, "only jobs that did not succeed, and what depends on them")
	f.BoolVarP(&reinitialize, "reinitialize", "r", false, "initialize the jobs afterwards, so that runners can take them")
	f.BoolVar(&force, "force", false, "although something is running")
	cli.AddNoPrompts(f, &noPrompts)
	cmd.RunE = a.WorkflowCommand(func(ctx context.Context, c *cli.Connection, id int64) error {
		w, err := c.Workflows.Get(ctx, id)
		if err != nil {
			return err
		}
		what := "all jobs"
		if failedOnly {
			what = "the jobs that did not succeed"
		}
		if yes, err := a.Confirm(noPrompts, fmt.Sprintf("Reset %s of workflow %d (%s)?", what, id, w.Name)); err != nil || !yes {
			return err
		}
		result := workflowReset{
			Status: "success", WorkflowID: id, FailedOnly: failedOnly,
			Operations: map[string]bool{"reset_workflow_status": true, "reset_job_status": true, "reinitialize": reinitialize},
		}
		done, err := c.Workflows.Reset(ctx, id, &api.ResetWorkflowRequest{RunID: w.RunID, FailedOnly: failedOnly, Force: force, Reinitialize: reinitialize})
		if err != nil {
			return err
		}
		result.Messages = []string{
			fmt.Sprintf("Workflow %d is ready for run %d", id, done.RunID),
			fmt.Sprintf("Reset %s", workflow.CountOf(done.Jobs, "job", "jobs")),
		}
		if reinitialize {
			result.Messages = append(result.Messages, "Initialized the jobs")
		}
		return a.ShowMessage(result, "%s", cli.JoinedLines(result.Messages))
	})
	return cmd
}
