// Package handlers has the commands about the failure handlers of workflows.
package handlers

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/apidata"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
)

// New returns the group of commands about failure handlers.
func New(a *cli.Factory) *cobra.Command {
	return cli.NewGroup(a, cli.GroupManagement, "failure-handlers", "Rules for jobs that fail",
		newList(a),
		newGet(a),
	)
}

var handlerColumns = cli.List[api.FailureHandler]{Things: "failure handlers", Columns: []cli.Column[api.FailureHandler]{
	{Title: "ID", Cell: func(h api.FailureHandler) string { return cli.OrEmpty(h.ID) }},
	{Title: "Name", Cell: func(h api.FailureHandler) string { return h.Name }},
	{Title: "Rules", Cell: func(h api.FailureHandler) string { return apidata.RulesSummary(h.Rules) }},
}}

func newList(a *cli.Factory) *cobra.Command {
	var listing cli.ListFlags
	cmd := cli.OnWorkflow(a, &cobra.Command{
		Use:     "list [WORKFLOW]",
		Short:   "List the failure handlers of a workflow",
		Example: `  torc-slurm failure-handlers list 12`,
	})
	listing.Add(cmd, cli.ListShorthands{})
	cmd.RunE = cli.Checked(listing.Check, a.WorkflowView(func(ctx context.Context, c *cli.Connection, id int64) error {
		return cli.ShowAll(a, handlerColumns, c.FailureHandlers.List(ctx, id, listing.Page))
	}))
	return cmd
}

func newGet(a *cli.Factory) *cobra.Command {
	return &cobra.Command{
		Use:         "get FAILURE_HANDLER",
		Short:       "Show a failure handler",
		Example:     `  torc-slurm -f json failure-handlers get 2 | jq '.rules | fromjson'`,
		Args:        cobra.ExactArgs(1),
		Annotations: cli.ServerExits(),
		RunE: a.IDCommand("failure handler", func(ctx context.Context, c *cli.Connection, id int64) error {
			h, err := c.FailureHandlers.Get(ctx, id)
			if err != nil {
				return err
			}
			return a.ShowRecord(h, func(w io.Writer) {
				cli.WriteFields(w, cli.Field{"ID", cli.OrEmpty(h.ID)}, cli.Field{"Workflow", cli.OrEmpty(&h.WorkflowID)}, cli.Field{"Name", h.Name}, cli.Field{"Rules", h.Rules})
			})
		}),
	}
}
