package policy

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// queueFlags name the queue that policies are attached to.
type queueFlags struct{ account, partition, scheduler string }

func (q *queueFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&q.account, "account", "", "the queue is Slurm's account `NAME`")
	c.Flags().StringVar(&q.partition, "partition", "", "the queue is Slurm's partition `NAME`")
	c.Flags().StringVar(&q.scheduler, "scheduler", "", "the queue is the slurm_scheduler `NAME` of workflows")
	c.MarkFlagsOneRequired("account", "partition", "scheduler")
	c.MarkFlagsMutuallyExclusive("account", "partition", "scheduler")
}

func (q *queueFlags) queue() workflow.Queue {
	switch {
	case q.account != "":
		return workflow.Queue{Kind: workflow.QueueAccount, Name: q.account}
	case q.partition != "":
		return workflow.Queue{Kind: workflow.QueuePartition, Name: q.partition}
	}
	return workflow.Queue{Kind: workflow.QueueScheduler, Name: q.scheduler}
}

func newAttach(a *cli.Factory) *cobra.Command {
	var flags queueFlags
	cmd := &cobra.Command{
		Use:   "attach NAME... --account|--partition|--scheduler QUEUE",
		Short: "Attach stored retry policies to a queue",
		Long: `Attach stored retry policies to a queue: they are tried first for attempts that ran
in allocations of the queue, in the order in which they were attached. Policies of
workflows are tried after them and cannot replace them.`,
		Example: `  torc-slurm retry-policy attach infra --partition gpu
  torc-slurm retry-policy attach infra ml-training --account climate`,
		Args:        cobra.MinimumNArgs(1),
		Annotations: cli.ServerExits(),
	}
	flags.add(cmd)
	cmd.RunE = a.ServerCommand(func(ctx context.Context, c *cli.Connection, args []string) error {
		q, err := c.RetryPolicies.Attach(ctx, workflow.QueuePolicies{Queue: flags.queue(), RetryPolicies: args})
		if err != nil {
			return err
		}
		return a.ShowMessage(q, "The retry policies of %s are %s", q.Queue, strings.Join(q.RetryPolicies, ", "))
	})
	return cmd
}

func newDetach(a *cli.Factory) *cobra.Command {
	var flags queueFlags
	cmd := &cobra.Command{
		Use:         "detach NAME... --account|--partition|--scheduler QUEUE",
		Short:       "Detach stored retry policies from a queue",
		Example:     `  torc-slurm retry-policy detach infra --partition gpu`,
		Args:        cobra.MinimumNArgs(1),
		Annotations: cli.ServerExits(),
	}
	flags.add(cmd)
	cmd.RunE = a.ServerCommand(func(ctx context.Context, c *cli.Connection, args []string) error {
		q, err := c.RetryPolicies.Detach(ctx, workflow.QueuePolicies{Queue: flags.queue(), RetryPolicies: args})
		if err != nil {
			return err
		}
		left := strings.Join(q.RetryPolicies, ", ")
		if left == "" {
			left = "none"
		}
		return a.ShowMessage(q, "The retry policies of %s are %s", q.Queue, left)
	})
	return cmd
}

func newQueues(a *cli.Factory) *cobra.Command {
	return &cobra.Command{
		Use:         "queues",
		Short:       "List the queues that have retry policies",
		Example:     `  torc-slurm retry-policy queues`,
		Args:        cobra.NoArgs,
		Annotations: cli.WithCSV(cli.ServerExits()),
		RunE: a.ServerCommand(func(ctx context.Context, c *cli.Connection, _ []string) error {
			all, err := c.RetryPolicies.Queues(ctx)
			if err != nil {
				return err
			}
			return cli.ShowList(a, cli.List[workflow.QueuePolicies]{Things: "queues", Columns: []cli.Column[workflow.QueuePolicies]{
				{Title: "Kind", Cell: func(q workflow.QueuePolicies) string { return string(q.Kind) }},
				{Title: "Queue", Cell: func(q workflow.QueuePolicies) string { return q.Name }},
				{Title: "Retry policies", Cell: func(q workflow.QueuePolicies) string { return strings.Join(q.RetryPolicies, " ") }},
			}}, all)
		}),
	}
}
