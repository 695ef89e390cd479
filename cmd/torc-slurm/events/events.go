// Package events has the commands about the events of workflows.
package events

import (
	"context"
	"encoding/json"
	"time"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// New returns the group of commands about events.
func New(a *cli.Factory) *cobra.Command {
	return cli.NewGroup(a, cli.GroupAnalysis, "events", "What has happened in a workflow",
		newList(a),
		newFollow(a),
		newGetLatest(a),
		newCreate(a),
		newDelete(a),
	)
}

var eventColumns = cli.List[api.Event]{Things: "events", Columns: []cli.Column[api.Event]{
	{Title: "ID", Cell: func(e api.Event) string { return cli.OrEmpty(e.ID) }, Only: cli.FormatCSV},
	{Title: "Timestamp", Cell: func(e api.Event) string {
		return time.UnixMilli(e.Timestamp).UTC().Format("2006-01-02T15:04:05.000Z")
	}},
	{Title: "Level", Cell: func(e api.Event) string { return cli.OrEmpty(e.Severity) }},
	{Title: "Event Type", Cell: func(e api.Event) string { return cli.OrEmpty(e.EventType) }},
	{Title: "Data", Cell: func(e api.Event) string { return cli.JSONText(e.Data) }},
}}

func newCreate(a *cli.Factory) *cobra.Command {
	var data string
	cmd := cli.OnWorkflow(a, &cobra.Command{
		Use:     "create [WORKFLOW] --data JSON",
		Short:   "Append a user event to a workflow's log",
		Example: `  torc-slurm events create 12 -d '{"category": "note", "text": "started the second half"}'`,
	})
	cmd.Flags().StringVarP(&data, "data", "d", "", "data of the event, as `JSON`; its category can be filtered by")
	_ = cmd.MarkFlagRequired("data")
	check := func() error { return cli.CheckJSON("data", data) }
	cmd.RunE = cli.Checked(check, a.WorkflowCommand(func(ctx context.Context, c *cli.Connection, id int64) error {
		e, err := c.Events.Create(ctx, id, json.RawMessage(data))
		if err != nil {
			return err
		}
		return a.ShowMessage(e, "Created event %s", cli.OrEmpty(e.ID))
	}))
	return cmd
}

func newList(a *cli.Factory) *cobra.Command {
	var (
		listing  cli.ListFlags
		category string
	)
	cmd := cli.OnWorkflow(a, &cobra.Command{
		Use:   "list [WORKFLOW]",
		Short: "List what has happened in a workflow",
		Example: `  torc-slurm events list 12
  torc-slurm events list 12 -r -l 20                 the latest first
  torc-slurm -f json events list 12 | jq '.items[] | select(.event_type == "job_failed")'`,
	})
	cli.FreeLetterS(a, cmd)
	listing.Add(cmd, cli.ListShorthands{Offset: "o", SortBy: "s", Reverse: "r"}, "timestamp", "data", "seq")
	cmd.Flags().StringVarP(&category, "type", "t", "", "only events of this `CATEGORY`")
	cmd.Flags().StringVar(&category, "category", "", "only events of this `CATEGORY`")
	_ = cmd.Flags().MarkHidden("category")
	cmd.RunE = cli.Checked(listing.Check, a.WorkflowView(func(ctx context.Context, c *cli.Connection, id int64) error {
		return cli.ShowAll(a, eventColumns, c.Events.List(ctx, client.EventFilter{Page: listing.Page, WorkflowID: id, Category: category}))
	}))
	return cmd
}

func newGetLatest(a *cli.Factory) *cobra.Command {
	return cli.OnWorkflow(a, &cobra.Command{
		Use:         "get-latest-event [WORKFLOW]",
		Short:       "Show the latest event of a workflow",
		Example:     `  torc-slurm -f json events get-latest-event 12`,
		Annotations: cli.WithCSV(cli.ServerExits()),
		RunE: a.WorkflowView(func(ctx context.Context, c *cli.Connection, id int64) error {
			latest := client.EventFilter{WorkflowID: id, Page: client.Page{Limit: 1, SortBy: "seq", Reverse: true}}
			events, err := client.Collect(c.Events.List(ctx, latest))
			switch {
			case err != nil:
				return err
			case len(events) == 0:
				return workflow.Errorf(workflow.CodeNotFound, "workflow %d has no events", id)
			case a.Format == cli.FormatJSON:
				return a.WriteJSON(events[0])
			}
			return cli.ShowList(a, eventColumns, events)
		}),
	})
}

func newDelete(a *cli.Factory) *cobra.Command {
	return &cobra.Command{
		Use:         "delete EVENT",
		Short:       "Remove the data of an event",
		Long:        `Remove the data of an event. Its entry is kept, so that the log has no gap.`,
		Example:     `  torc-slurm events delete 99`,
		Args:        cobra.ExactArgs(1),
		Annotations: cli.ServerExits(),
		RunE: a.IDCommand("event", func(ctx context.Context, c *cli.Connection, id int64) error {
			e, err := c.Events.Delete(ctx, id)
			if err != nil {
				return err
			}
			return a.ShowMessage(e, "Deleted event %d", id)
		}),
	}
}
