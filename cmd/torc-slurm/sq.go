package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// maxSightAge is how old the daemon's look at Slurm may be that sq shows. It
// looks about once a minute by itself.
const maxSightAge = time.Minute

func newSqCommand(a *app) *cobra.Command {
	var ended, fresh bool
	cmd := &cobra.Command{
		Use:   "sq [WORKFLOW]",
		Short: "Show the allocations in Slurm's queue, and what runs in them",
		Long: `Show your allocations as squeue has them, beside the jobs that run in them: why
one waits, in words, when Slurm thinks that it starts, and how much time is left.

What the daemon knows is shown, with its age. It asks Slurm again if that is older
than a minute, so ` + "`watch torc-slurm sq`" + ` is no burden to Slurm.`,
		GroupID: groupCompute,
		Example: `  torc-slurm sq
  torc-slurm sq 12 --ended          also those that are over, with the reason
  watch -n 5 torc-slurm sq
  torc-slurm -f json sq | jq '.items[] | select(.state == "pending") | .reason_text'`,
		Args:              cobra.MaximumNArgs(1),
		Annotations:       withCSV(serverExits()),
		ValidArgsFunction: a.completeWorkflows(1),
		RunE: a.serverCommand(func(ctx context.Context, c *connection, args []string) error {
			filter := client.AllocationQueueFilter{Ended: ended, MaxAge: maxSightAge}
			if fresh {
				filter.MaxAge = 0
			}
			if len(args) > 0 {
				id, err := parseID("workflow", args[0])
				if err != nil {
					return err
				}
				filter.WorkflowID = id
			}
			return a.showQueue(ctx, c, filter)
		}),
	}
	cmd.Flags().BoolVar(&ended, "ended", false, "also allocations that have ended")
	cmd.Flags().BoolVar(&fresh, "fresh", false, "ask Slurm now, however new the last look is")
	return cmd
}

func (a *app) showQueue(ctx context.Context, c *connection, filter client.AllocationQueueFilter) error {
	queue, err := c.AllocationQueue(ctx, filter)
	if err != nil {
		return err
	}
	now := a.Now()
	switch {
	case queue.Stale != "":
		seen := "Slurm was not asked yet"
		if queue.LookedMS != 0 {
			seen = "this is from " + clockOf(queue.LookedMS, now)
		}
		a.note("warning: %s; %s", queue.Stale, seen)
	case a.format == formatTable && slices.ContainsFunc(queue.Items, isLive):
		a.note("%s", sightAge(queue.LookedMS, now))
	}
	return showList(a, queueColumns(now), queue.Items)
}

func isLive(x api.QueuedAllocation) bool { return x.State != string(workflow.AllocationEnded) }

// sightAge says how old the daemon's look at the queue is.
func sightAge(lookedMS int64, now time.Time) string {
	if lookedMS == 0 {
		return "Slurm was not asked yet."
	}
	age := max(0, now.Sub(time.UnixMilli(lookedMS)))
	return fmt.Sprintf("As squeue had it %ds ago; --fresh asks again.", int(age.Seconds()))
}

// queueColumns are those of a list of allocations at a time.
func queueColumns(now time.Time) list[api.QueuedAllocation] {
	type row = api.QueuedAllocation
	return list[row]{things: "allocations", columns: []column[row]{
		{title: "Slurm ID", cell: slurmID},
		{title: "Workflow", cell: func(x row) string { return strings.TrimSpace(fmt.Sprintf("%d %s", x.WorkflowID, x.WorkflowName)) }},
		{title: "Partition", cell: func(x row) string { return x.Partition }},
		{title: "State", cell: queueState},
		{title: "Nodes", cell: func(x row) string { return fmt.Sprint(max(x.Nodes, 1)) }},
		{title: "Node List", cell: func(x row) string { return x.NodeList }},
		{title: "Time Left", cell: func(x row) string { return timeLeft(x, now) }},
		{title: "Running", cell: func(x row) string { return countIf(x, x.JobsRunning) }},
		{title: "Done", cell: func(x row) string { return countIf(x, x.AttemptsDone) }},
		{title: "Failed", cell: func(x row) string { return countIf(x, x.AttemptsFailed) }},
		{title: "Why", cell: func(x row) string { return queueWhy(x, now) }},
		{title: "Account", only: formatCSV, cell: func(x row) string { return x.Account }},
		{title: "QOS", only: formatCSV, cell: func(x row) string { return x.QOS }},
		{title: "Job Name", only: formatCSV, cell: func(x row) string { return x.JobName }},
		{title: "Scheduler ID", only: formatCSV, cell: func(x row) string { return orEmpty(x.SchedulerConfigID) }},
	}}
}

// slurmID is the Slurm job, with its life if Slurm has started it again.
func slurmID(x api.QueuedAllocation) string {
	switch {
	case x.SlurmJobID == 0:
		return ""
	case x.RestartCount > 0:
		return fmt.Sprintf("%d (restart %d)", x.SlurmJobID, x.RestartCount)
	}
	return fmt.Sprint(x.SlurmJobID)
}

// queueState is the state in squeue's word, or in ours where Slurm has none.
func queueState(x api.QueuedAllocation) string {
	switch {
	case x.State == string(workflow.AllocationEnded):
		return x.State + " (" + x.Cause + ")"
	case x.CancelMS != 0:
		return "canceling"
	}
	return firstOf(x.SlurmState, x.State)
}

// countIf is a number of jobs, nothing for an allocation that never had any.
func countIf(x api.QueuedAllocation, n int64) string {
	if x.StartMS == 0 && n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// timeLeft is the rest of an allocation that runs, what one asks for that
// waits.
func timeLeft(x api.QueuedAllocation, now time.Time) string {
	switch {
	case x.State == string(workflow.AllocationEnded):
		return ""
	case x.LimitMS != 0:
		return clockTime(max(0, time.UnixMilli(x.LimitMS).Sub(now).Truncate(time.Second)))
	case x.WalltimeSeconds != 0:
		return clockTime(seconds(float64(x.WalltimeSeconds)))
	}
	return ""
}

// queueWhy says why an allocation waits, or is no more.
func queueWhy(x api.QueuedAllocation, now time.Time) string {
	switch {
	case x.State == string(workflow.AllocationEnded):
		return x.CauseText
	case x.CancelMS != 0:
		return x.CancelWhy
	case x.EstimatedStartMS != 0:
		return strings.TrimPrefix(x.ReasonText+"; starts about "+clockOf(x.EstimatedStartMS, now), "; ")
	}
	return x.ReasonText
}

// clockOf is a moment: the time of day, with the date if that is another one.
func clockOf(ms int64, now time.Time) string {
	t := time.UnixMilli(ms).In(now.Location())
	if t.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return t.Format(time.TimeOnly)
	}
	return t.Format("2006-01-02 15:04")
}
