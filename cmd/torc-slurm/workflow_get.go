package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"
)

func newWorkflowsGetCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "get [WORKFLOW]",
		Short: "Show a workflow",
		Example: `  torc-slurm workflows get 12
  torc-slurm -f json workflows get 12 | jq .run_id`,
		Args:              cobra.MaximumNArgs(1),
		Annotations:       serverExits(),
		ValidArgsFunction: a.completeWorkflows(1),
		RunE: a.workflowView(func(ctx context.Context, c *connection, id int64) error {
			w, err := c.Workflow(ctx, id)
			if err != nil {
				return err
			}
			return a.showRecord(w, func(out io.Writer) { writeFields(out, workflowFields(w)...) })
		}),
	}
}

func newWorkflowsIsCompleteCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "is-complete [WORKFLOW]",
		Short: "Tell whether all jobs of a workflow have ended",
		Example: `  torc-slurm workflows is-complete 12
  torc-slurm -f json workflows is-complete 12 | jq .is_complete`,
		Args:              cobra.MaximumNArgs(1),
		Annotations:       serverExits(),
		ValidArgsFunction: a.completeWorkflows(1),
		RunE: a.workflowView(func(ctx context.Context, c *connection, id int64) error {
			state, err := c.IsComplete(ctx, id)
			if err != nil {
				return err
			}
			text := "not complete"
			switch {
			case state.IsCanceled:
				text = "canceled"
			case state.IsComplete:
				text = "complete"
			}
			return a.showMessage(state, "Workflow %d is %s", id, text)
		}),
	}
}
