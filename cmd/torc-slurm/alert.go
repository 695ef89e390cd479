package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/workflow"
)

func newAlertsCommand(a *app) *cobra.Command {
	return newGroup(a, groupManagement, "alerts", "Look at alerts and at the messages about them",
		newAlertsListCommand(a), newAlertsTestCommand(a))
}

func newAlertsListCommand(a *app) *cobra.Command {
	var flags listFlags
	c := &cobra.Command{
		Use:   "list [WORKFLOW]",
		Short: "List alerts, and what became of the messages about them",
		Example: `  torc-slurm alerts list
  torc-slurm alerts list 12
  torc-slurm -f json alerts list 12 | jq '.items[].subject'`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completeWorkflows(1),
		Annotations:       serverExits(),
	}
	flags.add(c, listShorthands{})
	c.RunE = checked(flags.check, a.serverCommand(func(ctx context.Context, conn *connection, args []string) error {
		id, err := someWorkflow(args)
		if err != nil {
			return err
		}
		var alerts []workflow.RaisedAlert
		for alert, err := range conn.Alerts(ctx, id, flags.page) {
			if err != nil {
				return err
			}
			alerts = append(alerts, alert)
		}
		return a.showAlerts(alerts)
	}))
	return c
}

func (a *app) showAlerts(alerts []workflow.RaisedAlert) error {
	return showList(a, list[workflow.RaisedAlert]{things: "alerts", columns: []column[workflow.RaisedAlert]{
		{title: "ID", cell: func(r workflow.RaisedAlert) string { return fmt.Sprint(r.ID) }},
		{title: "Workflow", cell: func(r workflow.RaisedAlert) string { return fmt.Sprint(r.WorkflowID) }},
		{title: "Time", cell: func(r workflow.RaisedAlert) string { return time.UnixMilli(r.AtMS).Format(time.DateTime) }},
		{title: "Kind", cell: func(r workflow.RaisedAlert) string { return string(r.Kind) }},
		{title: "Subject", cell: func(r workflow.RaisedAlert) string { return r.Subject }},
		{title: "Text", only: formatCSV, cell: func(r workflow.RaisedAlert) string { return r.Text }},
		{title: "Messages", cell: deliveriesOf},
	}}, alerts)
}

// deliveriesOf says what became of the messages about an alert.
func deliveriesOf(r workflow.RaisedAlert) string {
	var all []string
	for _, d := range r.Deliveries {
		text := fmt.Sprintf("%s %s: %s", d.Way, d.Address, d.State)
		if d.Error != "" {
			text += fmt.Sprintf(" after %d tries (%s)", d.Tries, d.Error)
		}
		all = append(all, text)
	}
	return strings.Join(all, "; ")
}

func newAlertsTestCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "test WORKFLOW",
		Short: "Send a message that says nothing, to see whether messages arrive",
		Long: `Raise an alert of the kind test about a workflow. Whoever is told of alerts about
it gets a message; "alerts list" shows what became of it.`,
		Example:           `  torc-slurm alerts test 12`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeWorkflows(1),
		Annotations:       serverExits(),
		RunE: a.idCommand("workflow", func(ctx context.Context, c *connection, id int64) error {
			alert, err := c.TestAlert(ctx, id)
			if err != nil {
				return err
			}
			return a.showMessage(map[string]int64{"alert_id": alert}, "Raised alert %d; see `torc-slurm alerts list %d`", alert, id)
		}),
	}
}
