// Package allocations has the commands that list allocations as torc does, and sq, which
// shows them as Slurm's queue does.
package allocations

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/apidata"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
)

// New returns the group of commands that list allocations as torc does.
func New(a *cli.Factory) *cobra.Command {
	return cli.NewGroup(a, cli.GroupCompute, "scheduled-compute-nodes", "Show the requested allocations",
		newGet(a),
		newList(a),
		newListJobs(a),
	)
}

var scheduledComputeNodeColumns = cli.List[api.ScheduledComputeNode]{
	Things: "scheduled compute nodes", Columns: []cli.Column[api.ScheduledComputeNode]{
		{Title: "ID", Cell: func(n api.ScheduledComputeNode) string { return cli.OrEmpty(n.ID) }},
		{Title: "Scheduler ID", Cell: func(n api.ScheduledComputeNode) string { return cli.OrEmpty(&n.SchedulerID) }},
		{Title: "Config ID", Cell: func(n api.ScheduledComputeNode) string { return cli.OrEmpty(&n.SchedulerConfigID) }},
		{Title: "Type", Cell: func(n api.ScheduledComputeNode) string { return n.SchedulerType }},
		{Title: "Status", Cell: func(n api.ScheduledComputeNode) string { return n.Status }},
	},
}

func newList(a *cli.Factory) *cobra.Command {
	var (
		listing                       cli.ListFlags
		schedulerID, configID, status string
	)
	cmd := cli.OnWorkflow(a, &cobra.Command{
		Use:   "list [WORKFLOW]",
		Short: "List the requested allocations",
		Long: `List the requested allocations, as torc does. ` + "`torc-slurm sq`" + ` shows more
about them.`,
		Example: `  torc-slurm scheduled-compute-nodes list 12
  torc-slurm scheduled-compute-nodes list 12 --status pending`,
	})
	cli.FreeLetterS(a, cmd)
	listing.Add(cmd, cli.ListShorthands{}, "scheduler_id", "scheduler_config_id", "scheduler_type", "status")
	f := cmd.Flags()
	f.StringVar(&schedulerID, "scheduler-id", "", "only the one with this Slurm `JOB`")
	f.StringVar(&configID, "scheduler-config-id", "", "only those of this `SCHEDULER`")
	f.StringVarP(&status, "status", "s", "", "only those with this `STATUS`")
	cli.CompleteWords(cmd, "status", "pending", "active", "complete", "canceled")
	cmd.RunE = cli.Checked(listing.Check, a.WorkflowView(func(ctx context.Context, c *cli.Connection, id int64) error {
		return cli.ShowAll(a, scheduledComputeNodeColumns, c.ScheduledComputeNodes.List(ctx, client.ScheduledComputeNodeFilter{
			Page: listing.Page, WorkflowID: id, SchedulerID: schedulerID, SchedulerConfigID: configID, Status: status,
		}))
	}))
	return cmd
}

func newGet(a *cli.Factory) *cobra.Command {
	return &cobra.Command{
		Use:         "get SCHEDULED_COMPUTE_NODE",
		Short:       "Show a requested allocation",
		Example:     `  torc-slurm scheduled-compute-nodes get 4`,
		Args:        cobra.ExactArgs(1),
		Annotations: cli.ServerExits(),
		RunE: a.IDCommand("scheduled compute node", func(ctx context.Context, c *cli.Connection, id int64) error {
			n, err := c.ScheduledComputeNodes.Get(ctx, id)
			if err != nil {
				return err
			}
			return a.ShowRecord(n, func(w io.Writer) {
				var fields []cli.Field
				for _, column := range scheduledComputeNodeColumns.Columns {
					fields = append(fields, cli.Field{column.Title, column.Cell(*n)})
				}
				cli.WriteFields(w, fields...)
			})
		}),
	}
}

func newListJobs(a *cli.Factory) *cobra.Command {
	return &cobra.Command{
		Use:         "list-jobs SCHEDULED_COMPUTE_NODE",
		Short:       "List the jobs that ran or run in an allocation",
		Example:     `  torc-slurm scheduled-compute-nodes list-jobs 4`,
		Args:        cobra.ExactArgs(1),
		Annotations: cli.WithCSV(cli.ServerExits()),
		RunE: a.IDCommand("scheduled compute node", func(ctx context.Context, c *cli.Connection, id int64) error {
			n, err := c.ScheduledComputeNodes.Get(ctx, id)
			if err != nil {
				return err
			}
			in, err := jobsInAllocation(ctx, c, n)
			if err != nil {
				return err
			}
			var jobs []api.Job
			for j, err := range c.Jobs.List(ctx, client.JobFilter{WorkflowID: n.WorkflowID}) {
				if err != nil {
					return err
				}
				if in[cli.OrZero(j.ID)] {
					jobs = append(jobs, j)
				}
			}
			nodes, err := apidata.NodeNames(ctx, c, n.WorkflowID)
			if err != nil {
				return err
			}
			return cli.ShowList(a, apidata.JobColumns(nodes, a.Now()), jobs)
		}),
	}
}

// jobsInAllocation returns the ids of the jobs that the runners of an allocation ran or
// are running.
func jobsInAllocation(ctx context.Context, c *cli.Connection, n *api.ScheduledComputeNode) (map[int64]bool, error) {
	in := make(map[int64]bool)
	for node, err := range c.ComputeNodes.List(ctx, client.ComputeNodeFilter{WorkflowID: n.WorkflowID, ScheduledComputeNodeID: n.ID}) {
		if err != nil {
			return nil, err
		}
		for r, err := range c.Results.List(ctx, client.ResultFilter{WorkflowID: n.WorkflowID, ComputeNodeID: node.ID, AllRuns: true}) {
			if err != nil {
				return nil, err
			}
			in[r.JobID] = true
		}
		for j, err := range c.Jobs.List(ctx, client.JobFilter{WorkflowID: n.WorkflowID, ActiveComputeNodeID: node.ID}) {
			if err != nil {
				return nil, err
			}
			in[cli.OrZero(j.ID)] = true
		}
	}
	return in, nil
}
