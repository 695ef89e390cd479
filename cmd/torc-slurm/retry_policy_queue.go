package main

import (
	"context"
	"slices"
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

// attached returns the policies of a queue.
func attached(ctx context.Context, c *connection, q workflow.Queue) (workflow.QueuePolicies, error) {
	all, err := c.QueuePolicies(ctx)
	if err != nil {
		return workflow.QueuePolicies{}, err
	}
	if i := slices.IndexFunc(all, func(p workflow.QueuePolicies) bool { return p.Queue == q }); i >= 0 {
		return all[i], nil
	}
	return workflow.QueuePolicies{Queue: q, RetryPolicies: []string{}}, nil
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
		q, err := attached(ctx, c, flags.queue())
		if err != nil {
			return err
		}
		for _, name := range args {
			if !slices.Contains(q.RetryPolicies, name) {
				q.RetryPolicies = append(q.RetryPolicies, name)
			}
		}
		if err := c.SetQueuePolicies(ctx, q); err != nil {
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
		q, err := attached(ctx, c, flags.queue())
		if err != nil {
			return err
		}
		for _, name := range args {
			if !slices.Contains(q.RetryPolicies, name) {
				return workflow.Errorf(workflow.CodeNotFound, "the retry policy %q is not attached to %s", name, q.Queue)
			}
		}
		q.RetryPolicies = slices.DeleteFunc(q.RetryPolicies, func(name string) bool { return slices.Contains(args, name) })
		if err := c.SetQueuePolicies(ctx, q); err != nil {
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
