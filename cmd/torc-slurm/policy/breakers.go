package policy

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// NewBreakers returns the group of commands about circuit breakers.
func NewBreakers(a *cli.Factory) *cobra.Command {
	return cli.NewGroup(a, cli.GroupManagement, "breakers", "List and close open circuit breakers",
		newBreakersList(a), newBreakersReset(a))
}

func newBreakersList(a *cli.Factory) *cobra.Command {
	var all bool
	cmd := cli.OnWorkflow(a, &cobra.Command{
		Use:   "list [WORKFLOW]",
		Short: "List open circuit breakers",
		Long: `List the open circuit breakers: those of a workflow and the node breaker, which is
shared by all workflows, or without a workflow all of them. The JSON format has the
attempts that opened them.`,
		Example: `  torc-slurm breakers list
  torc-slurm breakers list 12 --all
  torc-slurm -f json breakers list | jq '.items[].attempts'`,
		Annotations: cli.WithCSV(cli.ServerExits()),
		RunE: a.ServerCommand(func(ctx context.Context, c *cli.Connection, args []string) error {
			id, err := cli.SomeWorkflow(args)
			if err != nil {
				return err
			}
			trips, err := c.Breakers.List(ctx, id, all)
			if err != nil {
				return err
			}
			things := "open circuit breakers"
			if all {
				things = "circuit breakers"
			}
			return showBreakers(a, things, trips)
		}),
	})
	cmd.Flags().BoolVar(&all, "all", false, "also those that have closed")
	return cmd
}

func showBreakers(a *cli.Factory, things string, trips []workflow.BreakerTrip) error {
	return cli.ShowList(a, cli.List[workflow.BreakerTrip]{Things: things, Columns: []cli.Column[workflow.BreakerTrip]{
		{Title: "ID", Cell: func(t workflow.BreakerTrip) string { return fmt.Sprint(t.ID) }},
		{Title: "Workflow", Cell: func(t workflow.BreakerTrip) string { return workflowOrAll(t.WorkflowID) }},
		{Title: "Breaker", Cell: func(t workflow.BreakerTrip) string { return t.Breaker }},
		{Title: "About", Cell: func(t workflow.BreakerTrip) string { return t.Subject }},
		{Title: "Action", Cell: func(t workflow.BreakerTrip) string { return string(t.Action) }},
		{Title: "Since", Cell: func(t workflow.BreakerTrip) string { return cli.LocalTime(t.SinceMS) }},
		{Title: "Until", Cell: func(t workflow.BreakerTrip) string {
			if t.EndedMS != 0 {
				return cli.LocalTime(t.EndedMS)
			}
			return cli.LocalTime(t.UntilMS)
		}},
		{Title: "Reason", Cell: func(t workflow.BreakerTrip) string { return t.Reason }},
	}}, trips)
}

// workflowOrAll returns the id of a workflow as text; all for 0.
func workflowOrAll(id int64) string {
	if id == 0 {
		return "all"
	}
	return fmt.Sprint(id)
}

func newBreakersReset(a *cli.Factory) *cobra.Command {
	which := api.BreakerReset{}
	cmd := &cobra.Command{
		Use:   "reset [ID]",
		Short: "Close open circuit breakers",
		Long: `Close the open circuit breaker with an id, or those of a workflow, of a node, or all.
Their counts start at zero.`,
		Example: `  torc-slurm breakers reset 3
  torc-slurm breakers reset --node node17
  torc-slurm breakers reset --workflow 12`,
		Args:        cobra.MaximumNArgs(1),
		Annotations: cli.ServerExits(),
	}
	f := cmd.Flags()
	f.Int64Var(&which.WorkflowID, "workflow", 0, "those of this workflow")
	f.StringVar(&which.Node, "node", "", "those about this node")
	f.BoolVar(&which.All, "all", false, "all of them")
	_ = cmd.RegisterFlagCompletionFunc("workflow", cli.CompleteWorkflows(a, 0))
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if len(args) > 0 {
			var err error
			if which.ID, err = cli.ParseID("circuit breaker", args[0]); err != nil {
				return err
			}
		}
		if given := which.ID != 0 || which.WorkflowID != 0 || which.Node != ""; given == which.All {
			return cli.UsageErrorf("select the circuit breakers by one of an id, --workflow, --node or --all")
		}
		return a.ServerCommand(func(ctx context.Context, c *cli.Connection, _ []string) error {
			closed, err := c.Breakers.Reset(ctx, &which)
			if err != nil {
				return err
			}
			return a.ShowMessage(api.BreakerList{Breakers: closed}, "Closed %s", workflow.CountOf(int64(len(closed)), "circuit breaker", "circuit breakers"))
		})(cmd, nil)
	}
	return cmd
}
