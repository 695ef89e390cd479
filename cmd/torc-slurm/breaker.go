package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func newBreakersCommand(a *app) *cobra.Command {
	return newGroup(a, groupManagement, "breakers", "Look at circuit breakers that have opened, and close them",
		newBreakersListCommand(a), newBreakersResetCommand(a))
}

func newBreakersListCommand(a *app) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "list [WORKFLOW]",
		Short: "List open circuit breakers",
		Long: `List the circuit breakers that are open: those of a workflow and the one that looks
after the nodes of all workflows, or, without a workflow, all of them. The attempts
that opened one are in the JSON format.`,
		Example: `  torc-slurm breakers list
  torc-slurm breakers list 12 --all
  torc-slurm -f json breakers list | jq '.items[].attempts'`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completeWorkflows(1),
		Annotations:       withCSV(serverExits()),
		RunE: a.serverCommand(func(ctx context.Context, c *connection, args []string) error {
			id, err := someWorkflow(args)
			if err != nil {
				return err
			}
			trips, err := c.Breakers(ctx, id, all)
			if err != nil {
				return err
			}
			things := "open circuit breakers"
			if all {
				things = "circuit breakers"
			}
			return a.showBreakers(things, trips)
		}),
	}
	cmd.Flags().BoolVar(&all, "all", false, "also those that have closed")
	return cmd
}

func (a *app) showBreakers(things string, trips []workflow.BreakerTrip) error {
	return showList(a, list[workflow.BreakerTrip]{things: things, columns: []column[workflow.BreakerTrip]{
		{title: "ID", cell: func(t workflow.BreakerTrip) string { return fmt.Sprint(t.ID) }},
		{title: "Workflow", cell: func(t workflow.BreakerTrip) string { return workflowOrAll(t.WorkflowID) }},
		{title: "Breaker", cell: func(t workflow.BreakerTrip) string { return t.Breaker }},
		{title: "About", cell: func(t workflow.BreakerTrip) string { return t.Subject }},
		{title: "Action", cell: func(t workflow.BreakerTrip) string { return string(t.Action) }},
		{title: "Since", cell: func(t workflow.BreakerTrip) string { return heldSince(t.SinceMS) }},
		{title: "Until", cell: func(t workflow.BreakerTrip) string {
			if t.EndedMS != 0 {
				return heldSince(t.EndedMS)
			}
			return heldSince(t.UntilMS)
		}},
		{title: "Reason", cell: func(t workflow.BreakerTrip) string { return t.Reason }},
	}}, trips)
}

// workflowOrAll is the id of a workflow; 0 stands for all of them.
func workflowOrAll(id int64) string {
	if id == 0 {
		return "all"
	}
	return fmt.Sprint(id)
}

func newBreakersResetCommand(a *app) *cobra.Command {
	which := api.BreakerReset{}
	cmd := &cobra.Command{
		Use:   "reset [ID]",
		Short: "Close open circuit breakers",
		Long: `Close the open circuit breaker with an id, or those of a workflow, of a node, or all.
What they had counted is not counted again.`,
		Example: `  torc-slurm breakers reset 3
  torc-slurm breakers reset --node node17
  torc-slurm breakers reset --workflow 12`,
		Args:        cobra.MaximumNArgs(1),
		Annotations: serverExits(),
	}
	f := cmd.Flags()
	f.Int64Var(&which.WorkflowID, "workflow", 0, "those of this workflow")
	f.StringVar(&which.Node, "node", "", "those about this node")
	f.BoolVar(&which.All, "all", false, "all of them")
	_ = cmd.RegisterFlagCompletionFunc("workflow", a.completeWorkflows(0))
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if len(args) > 0 {
			var err error
			if which.ID, err = parseID("circuit breaker", args[0]); err != nil {
				return err
			}
		}
		if given := which.ID != 0 || which.WorkflowID != 0 || which.Node != ""; given == which.All {
			return usageErrorf("say which circuit breakers: an id, --workflow, --node, or --all alone")
		}
		return a.serverCommand(func(ctx context.Context, c *connection, _ []string) error {
			closed, err := c.ResetBreakers(ctx, &which)
			if err != nil {
				return err
			}
			return a.showMessage(api.BreakerList{Breakers: closed}, "Closed %s", workflow.CountOf(int64(len(closed)), "circuit breaker", "circuit breakers"))
		})(cmd, nil)
	}
	return cmd
}
