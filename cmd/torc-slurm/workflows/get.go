package workflows

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
)

func newGet(a *cli.Factory) *cobra.Command {
	return &cobra.Command{
		Use:   "get [WORKFLOW]",
		Short: "Show a workflow",
		Example: `  torc-slurm workflows get 12
  torc-slurm -f json workflows get 12 | jq .run_id`,
		Args:              cobra.MaximumNArgs(1),
		Annotations:       cli.ServerExits(),
		ValidArgsFunction: cli.CompleteWorkflows(a, 1),
		RunE: a.WorkflowView(func(ctx context.Context, c *cli.Connection, id int64) error {
			w, err := c.Workflows.Get(ctx, id)
			if err != nil {
				return err
			}
			return a.ShowRecord(w, func(out io.Writer) { cli.WriteFields(out, workflowFields(w)...) })
		}),
	}
}

func newIsComplete(a *cli.Factory) *cobra.Command {
	return &cobra.Command{
		Use:   "is-complete [WORKFLOW]",
		Short: "Tell whether all jobs of a workflow have ended",
		Example: `  torc-slurm workflows is-complete 12
  torc-slurm -f json workflows is-complete 12 | jq .is_complete`,
		Args:              cobra.MaximumNArgs(1),
		Annotations:       cli.ServerExits(),
		ValidArgsFunction: cli.CompleteWorkflows(a, 1),
		RunE: a.WorkflowView(func(ctx context.Context, c *cli.Connection, id int64) error {
			state, err := c.Workflows.IsComplete(ctx, id)
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
			return a.ShowMessage(state, "Workflow %d is %s", id, text)
		}),
	}
}
