// Package alerts has the commands about alerts and where they are delivered.
package alerts

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// New returns the group of commands about alerts.
func New(a *cli.Factory) *cobra.Command {
	return cli.NewGroup(a, cli.GroupManagement, "alerts", "List alerts and test their delivery",
		newList(a), newTest(a))
}

func newList(a *cli.Factory) *cobra.Command {
	var flags cli.ListFlags
	c := &cobra.Command{
		Use:   "list [WORKFLOW]",
		Short: "List alerts and the delivery of their messages",
		Example: `  torc-slurm alerts list
  torc-slurm alerts list 12
  torc-slurm -f json alerts list 12 | jq '.items[].subject'`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: cli.CompleteWorkflows(a, 1),
		Annotations:       cli.ServerExits(),
	}
	flags.Add(c, cli.ListShorthands{})
	c.RunE = cli.Checked(flags.Check, a.ServerCommand(func(ctx context.Context, conn *cli.Connection, args []string) error {
		id, err := cli.SomeWorkflow(args)
		if err != nil {
			return err
		}
		return cli.ShowAll(a, alertColumns, conn.Alerts.List(ctx, id, flags.Page))
	}))
	return c
}

var alertColumns = cli.List[workflow.RaisedAlert]{Things: "alerts", Columns: []cli.Column[workflow.RaisedAlert]{
	{Title: "ID", Cell: func(r workflow.RaisedAlert) string { return fmt.Sprint(r.ID) }},
	{Title: "Workflow", Cell: func(r workflow.RaisedAlert) string { return fmt.Sprint(r.WorkflowID) }},
	{Title: "Time", Cell: func(r workflow.RaisedAlert) string { return time.UnixMilli(r.AtMS).Format(time.DateTime) }},
	{Title: "Kind", Cell: func(r workflow.RaisedAlert) string { return string(r.Kind) }},
	{Title: "Subject", Cell: func(r workflow.RaisedAlert) string { return r.Subject }},
	{Title: "Text", Only: cli.FormatCSV, Cell: func(r workflow.RaisedAlert) string { return r.Text }},
	{Title: "Messages", Cell: deliveriesOf},
}}

// deliveriesOf returns the deliveries of an alert's messages as text.
func deliveriesOf(r workflow.RaisedAlert) string {
	var all []string
	for _, d := range r.Deliveries {
		text := fmt.Sprintf("%s %s: %s", d.Channel, d.Address, d.State)
		if d.Error != "" {
			text += fmt.Sprintf(" after %d tries (%s)", d.Tries, d.Error)
		}
		all = append(all, text)
	}
	return strings.Join(all, "; ")
}

func newTest(a *cli.Factory) *cobra.Command {
	return &cobra.Command{
		Use:   "test WORKFLOW",
		Short: "Send a test message, to check that messages arrive",
		Long: `Raise an alert of the kind test about a workflow. The recipients of its alerts get a
message; "alerts list" shows its delivery.`,
		Example:           `  torc-slurm alerts test 12`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cli.CompleteWorkflows(a, 1),
		Annotations:       cli.ServerExits(),
		RunE: a.IDCommand("workflow", func(ctx context.Context, c *cli.Connection, id int64) error {
			alert, err := c.Alerts.Test(ctx, id)
			if err != nil {
				return err
			}
			return a.ShowMessage(map[string]int64{"alert_id": alert}, "Raised alert %d; see `torc-slurm alerts list %d`", alert, id)
		}),
	}
}
