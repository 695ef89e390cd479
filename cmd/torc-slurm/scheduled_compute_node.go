package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
)

// newScheduledComputeNodesCommand groups the commands about allocations as torc
// lists them.
func newScheduledComputeNodesCommand(a *app) *cobra.Command {
	return newGroup(a, groupCompute, "scheduled-compute-nodes", "Allocations that were asked for",
		newScheduledComputeNodesGetCommand(a),
		newScheduledComputeNodesListCommand(a),
		newScheduledComputeNodesListJobsCommand(a),
	)
}

var scheduledComputeNodeColumns = list[api.ScheduledComputeNode]{
	things: "scheduled compute nodes", columns: []column[api.ScheduledComputeNode]{
		{title: "ID", cell: func(n api.ScheduledComputeNode) string { return orEmpty(n.ID) }},
		{title: "Scheduler ID", cell: func(n api.ScheduledComputeNode) string { return orEmpty(&n.SchedulerID) }},
		{title: "Config ID", cell: func(n api.ScheduledComputeNode) string { return orEmpty(&n.SchedulerConfigID) }},
		{title: "Type", cell: func(n api.ScheduledComputeNode) string { return n.SchedulerType }},
		{title: "Status", cell: func(n api.ScheduledComputeNode) string { return n.Status }},
	},
}

func newScheduledComputeNodesListCommand(a *app) *cobra.Command {
	var (
		listing                       listFlags
		schedulerID, configID, status string
	)
	cmd := &cobra.Command{
		Use:   "list [WORKFLOW]",
		Short: "List the allocations that were asked for",
		Long: `List the allocations that were asked for, as torc does. ` + "`torc-slurm sq`" + ` says more
about them.`,
		Example: `  torc-slurm scheduled-compute-nodes list 12
  torc-slurm scheduled-compute-nodes list 12 --status pending`,
		Args:              cobra.MaximumNArgs(1),
		Annotations:       serverExits(),
		ValidArgsFunction: a.completeWorkflows(1),
	}
	freeLetterS(a, cmd)
	listing.add(cmd, listShorthands{}, "scheduler_id", "scheduler_config_id", "scheduler_type", "status")
	f := cmd.Flags()
	f.StringVar(&schedulerID, "scheduler-id", "", "only that of this Slurm `JOB`")
	f.StringVar(&configID, "scheduler-config-id", "", "only those of this `SCHEDULER`")
	f.StringVarP(&status, "status", "s", "", "only those with this `STATUS`")
	completeWords(cmd, "status", "pending", "active", "complete", "canceled")
	cmd.RunE = checked(listing.check, a.workflowView(func(ctx context.Context, c *connection, id int64) error {
		all, err := client.Collect(c.ScheduledComputeNodes(ctx, client.ScheduledComputeNodeFilter{
			Page: listing.page, WorkflowID: id, SchedulerID: schedulerID, SchedulerConfigID: configID, Status: status,
		}))
		if err != nil {
			return err
		}
		return showList(a, scheduledComputeNodeColumns, all)
	}))
	return cmd
}

func newScheduledComputeNodesGetCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:         "get SCHEDULED_COMPUTE_NODE",
		Short:       "Show an allocation that was asked for",
		Example:     `  torc-slurm scheduled-compute-nodes get 4`,
		Args:        cobra.ExactArgs(1),
		Annotations: serverExits(),
		RunE: a.idCommand("scheduled compute node", func(ctx context.Context, c *connection, id int64) error {
			n, err := c.ScheduledComputeNode(ctx, id)
			if err != nil {
				return err
			}
			return a.showRecord(n, func(w io.Writer) {
				var fields []field
				for _, column := range scheduledComputeNodeColumns.columns {
					fields = append(fields, field{column.title, column.cell(*n)})
				}
				writeFields(w, fields...)
			})
		}),
	}
}

func newScheduledComputeNodesListJobsCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:         "list-jobs SCHEDULED_COMPUTE_NODE",
		Short:       "List the jobs that ran or run in an allocation",
		Example:     `  torc-slurm scheduled-compute-nodes list-jobs 4`,
		Args:        cobra.ExactArgs(1),
		Annotations: withCSV(serverExits()),
		RunE: a.idCommand("scheduled compute node", func(ctx context.Context, c *connection, id int64) error {
			n, err := c.ScheduledComputeNode(ctx, id)
			if err != nil {
				return err
			}
			in, err := jobsInAllocation(ctx, c, n)
			if err != nil {
				return err
			}
			var jobs []api.Job
			for j, err := range c.Jobs(ctx, client.JobFilter{WorkflowID: n.WorkflowID}) {
				if err != nil {
					return err
				}
				if in[idOf(j.ID)] {
					jobs = append(jobs, j)
				}
			}
			nodes, err := nodeNames(ctx, c, n.WorkflowID)
			if err != nil {
				return err
			}
			return showList(a, jobColumns(nodes, a.Now()), jobs)
		}),
	}
}

// jobsInAllocation are the jobs that the runners of an allocation have or had.
func jobsInAllocation(ctx context.Context, c *connection, n *api.ScheduledComputeNode) (map[int64]bool, error) {
	in := make(map[int64]bool)
	for node, err := range c.ComputeNodes(ctx, client.ComputeNodeFilter{WorkflowID: n.WorkflowID, ScheduledComputeNodeID: n.ID}) {
		if err != nil {
			return nil, err
		}
		for r, err := range c.Results(ctx, client.ResultFilter{WorkflowID: n.WorkflowID, ComputeNodeID: node.ID, AllRuns: true}) {
			if err != nil {
				return nil, err
			}
			in[r.JobID] = true
		}
		for j, err := range c.Jobs(ctx, client.JobFilter{WorkflowID: n.WorkflowID, ActiveComputeNodeID: node.ID}) {
			if err != nil {
				return nil, err
			}
			in[idOf(j.ID)] = true
		}
	}
	return in, nil
}
