package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
)

// newFailureHandlersCommand groups the commands about failure handlers.
func newFailureHandlersCommand(a *app) *cobra.Command {
	return newGroup(a, groupManagement, "failure-handlers", "Rules for jobs that fail",
		newFailureHandlersListCommand(a),
		newFailureHandlersGetCommand(a),
	)
}

func newFailureHandlersListCommand(a *app) *cobra.Command {
	var listing listFlags
	cmd := &cobra.Command{
		Use:               "list [WORKFLOW]",
		Short:             "List the failure handlers of a workflow",
		Example:           `  torc-slurm failure-handlers list 12`,
		Args:              cobra.MaximumNArgs(1),
		Annotations:       serverExits(),
		ValidArgsFunction: a.completeWorkflows(1),
	}
	listing.add(cmd, listShorthands{})
	cmd.RunE = checked(listing.check, a.workflowView(func(ctx context.Context, c *connection, id int64) error {
		all, err := client.Collect(c.FailureHandlers(ctx, id, listing.page))
		if err != nil {
			return err
		}
		return showList(a, list[api.FailureHandler]{things: "failure handlers", columns: []column[api.FailureHandler]{
			{title: "ID", cell: func(h api.FailureHandler) string { return orEmpty(h.ID) }},
			{title: "Name", cell: func(h api.FailureHandler) string { return h.Name }},
			{title: "Rules", cell: func(h api.FailureHandler) string { return rulesSummary(h.Rules) }},
		}}, all)
	}))
	return cmd
}

func newFailureHandlersGetCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:         "get FAILURE_HANDLER",
		Short:       "Show a failure handler",
		Example:     `  torc-slurm -f json failure-handlers get 2 | jq '.rules | fromjson'`,
		Args:        cobra.ExactArgs(1),
		Annotations: serverExits(),
		RunE: a.idCommand("failure handler", func(ctx context.Context, c *connection, id int64) error {
			h, err := c.FailureHandler(ctx, id)
			if err != nil {
				return err
			}
			return a.showRecord(h, func(w io.Writer) {
				writeFields(w, field{"ID", orEmpty(h.ID)}, field{"Workflow", orEmpty(&h.WorkflowID)}, field{"Name", h.Name}, field{"Rules", h.Rules})
			})
		}),
	}
}
