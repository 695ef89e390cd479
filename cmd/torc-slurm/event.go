package main

import (
	"context"
	"encoding/json"
	"time"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// newEventsCommand groups the commands about events.
func newEventsCommand(a *app) *cobra.Command {
	return newGroup(a, groupAnalysis, "events", "What has happened in a workflow",
		newEventsListCommand(a),
		newEventsFollowCommand(a),
		newEventsGetLatestCommand(a),
		newEventsCreateCommand(a),
		newEventsDeleteCommand(a),
	)
}

var eventColumns = list[api.Event]{things: "events", columns: []column[api.Event]{
	{title: "ID", cell: func(e api.Event) string { return orEmpty(e.ID) }, only: formatCSV},
	{title: "Timestamp", cell: func(e api.Event) string {
		return time.UnixMilli(e.Timestamp).UTC().Format("2006-01-02T15:04:05.000Z")
	}},
	{title: "Level", cell: func(e api.Event) string { return orEmpty(e.Severity) }},
	{title: "Event Type", cell: func(e api.Event) string { return orEmpty(e.EventType) }},
	{title: "Data", cell: func(e api.Event) string { return jsonText(e.Data) }},
}}

func newEventsCreateCommand(a *app) *cobra.Command {
	var data string
	cmd := &cobra.Command{
		Use:               "create [WORKFLOW] --data JSON",
		Short:             "Append an event of your own to a workflow's log",
		Example:           `  torc-slurm events create 12 -d '{"category": "note", "text": "started the second half"}'`,
		Args:              cobra.MaximumNArgs(1),
		Annotations:       serverExits(),
		ValidArgsFunction: a.completeWorkflows(1),
	}
	cmd.Flags().StringVarP(&data, "data", "d", "", "what happened, as `JSON`; its category can be listed by")
	_ = cmd.MarkFlagRequired("data")
	check := func() error { return checkJSON("data", data) }
	cmd.RunE = checked(check, a.workflowCommand(func(ctx context.Context, c *connection, id int64) error {
		e, err := c.CreateEvent(ctx, id, json.RawMessage(data))
		if err != nil {
			return err
		}
		return a.showMessage(e, "Created event %s", orEmpty(e.ID))
	}))
	return cmd
}

func newEventsListCommand(a *app) *cobra.Command {
	var (
		listing  listFlags
		category string
	)
	cmd := &cobra.Command{
		Use:   "list [WORKFLOW]",
		Short: "List what has happened in a workflow",
		Example: `  torc-slurm events list 12
  torc-slurm events list 12 -r -l 20                 the latest first
  torc-slurm -f json events list 12 | jq '.items[] | select(.event_type == "job_failed")'`,
		Args:              cobra.MaximumNArgs(1),
		Annotations:       serverExits(),
		ValidArgsFunction: a.completeWorkflows(1),
	}
	freeLetterS(a, cmd)
	listing.add(cmd, listShorthands{offset: "o", sortBy: "s", reverse: "r"}, "timestamp", "data", "seq")
	cmd.Flags().StringVarP(&category, "type", "t", "", "only events of this `CATEGORY`")
	cmd.Flags().StringVar(&category, "category", "", "only events of this `CATEGORY`")
	_ = cmd.Flags().MarkHidden("category")
	cmd.RunE = checked(listing.check, a.workflowView(func(ctx context.Context, c *connection, id int64) error {
		events, err := client.Collect(c.Events(ctx, client.EventFilter{Page: listing.page, WorkflowID: id, Category: category}))
		if err != nil {
			return err
		}
		return showList(a, eventColumns, events)
	}))
	return cmd
}

func newEventsGetLatestCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:               "get-latest-event [WORKFLOW]",
		Short:             "Show the latest event of a workflow",
		Example:           `  torc-slurm -f json events get-latest-event 12`,
		Args:              cobra.MaximumNArgs(1),
		Annotations:       withCSV(serverExits()),
		ValidArgsFunction: a.completeWorkflows(1),
		RunE: a.workflowView(func(ctx context.Context, c *connection, id int64) error {
			latest := client.EventFilter{WorkflowID: id, Page: client.Page{Limit: 1, SortBy: "seq", Reverse: true}}
			events, err := client.Collect(c.Events(ctx, latest))
			switch {
			case err != nil:
				return err
			case len(events) == 0:
				return workflow.Errorf(workflow.CodeNotFound, "workflow %d has no events", id)
			case a.format == formatJSON:
				return a.writeJSON(events[0])
			}
			return showList(a, eventColumns, events)
		}),
	}
}

func newEventsDeleteCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:         "delete EVENT",
		Short:       "Remove what an event says",
		Long:        `Remove the data of an event. Its row stays, so that the log has no gap.`,
		Example:     `  torc-slurm events delete 99`,
		Args:        cobra.ExactArgs(1),
		Annotations: serverExits(),
		RunE: a.idCommand("event", func(ctx context.Context, c *connection, id int64) error {
			e, err := c.DeleteEvent(ctx, id)
			if err != nil {
				return err
			}
			return a.showMessage(e, "Deleted event %d", id)
		}),
	}
}
