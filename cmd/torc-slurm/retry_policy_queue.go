package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

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

func newRetryPolicyAttachCommand(a *app) *cobra.Command {
	var flags queueFlags
	cmd := &cobra.Command{
		Use:   "attach NAME... --account|--partition|--scheduler QUEUE",
		Short: "Have stored retry policies tried first for what runs in a queue",
		Long: `Have stored retry policies tried first for attempts that ran in allocations of a
queue, in the order in which they were attached. Workflows add policies behind
them and cannot take them away.`,
		Example: `  torc-slurm retry-policy attach infra --partition gpu
  torc-slurm retry-policy attach infra ml-training --account climate`,
		Args:        cobra.MinimumNArgs(1),
		Annotations: serverExits(),
	}
	flags.add(cmd)
	cmd.RunE = a.serverCommand(func(ctx context.Context, c *connection, args []string) error {
		q, err := c.AttachPolicies(ctx, workflow.QueuePolicies{Queue: flags.queue(), RetryPolicies: args})
		if err != nil {
			return err
		}
		return a.showMessage(q, "The retry policies of %s are %s", q.Queue, strings.Join(q.RetryPolicies, ", "))
	})
	return cmd
}

func newRetryPolicyDetachCommand(a *app) *cobra.Command {
	var flags queueFlags
	cmd := &cobra.Command{
		Use:         "detach NAME... --account|--partition|--scheduler QUEUE",
		Short:       "Take stored retry policies from a queue",
		Example:     `  torc-slurm retry-policy detach infra --partition gpu`,
		Args:        cobra.MinimumNArgs(1),
		Annotations: serverExits(),
	}
	flags.add(cmd)
	cmd.RunE = a.serverCommand(func(ctx context.Context, c *connection, args []string) error {
		q, err := c.DetachPolicies(ctx, workflow.QueuePolicies{Queue: flags.queue(), RetryPolicies: args})
		if err != nil {
			return err
		}
		left := strings.Join(q.RetryPolicies, ", ")
		if left == "" {
			left = "none"
		}
		return a.showMessage(q, "The retry policies of %s are %s", q.Queue, left)
	})
	return cmd
}

func newRetryPolicyQueuesCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:         "queues",
		Short:       "List the queues that have retry policies",
		Example:     `  torc-slurm retry-policy queues`,
		Args:        cobra.NoArgs,
		Annotations: withCSV(serverExits()),
		RunE: a.serverCommand(func(ctx context.Context, c *connection, _ []string) error {
			all, err := c.QueuePolicies(ctx)
			if err != nil {
				return err
			}
			return showList(a, list[workflow.QueuePolicies]{things: "queues", columns: []column[workflow.QueuePolicies]{
				{title: "Kind", cell: func(q workflow.QueuePolicies) string { return string(q.Kind) }},
				{title: "Queue", cell: func(q workflow.QueuePolicies) string { return q.Name }},
				{title: "Retry policies", cell: func(q workflow.QueuePolicies) string { return strings.Join(q.RetryPolicies, " ") }},
			}}, all)
		}),
	}
}
