package allocations

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/apidata"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// maxPollAge is the maximum age of the poll of Slurm that sq shows; if the daemon's last poll
// is older, it polls again. By itself it polls about once a minute.
const maxPollAge = time.Minute

// NewQueue returns sq, the command that shows the allocations in Slurm's queue.
func NewQueue(a *cli.Factory) *cobra.Command {
	var ended, fresh bool
	cmd := cli.OnWorkflow(a, &cobra.Command{
		Use:   "sq [WORKFLOW]",
		Short: "Show the allocations in Slurm's queue, and what runs in them",
		Long: `Show your allocations like squeue does, with the jobs that run in them: why an
allocation is pending, when Slurm expects to start it, and how much time it has left.

The data comes from the daemon's last poll of Slurm, and its age is shown. The daemon
polls again only if the data is older than a minute, so ` + "`watch torc-slurm sq`" + ` puts
little load on Slurm.

Starts is when Slurm expects to start a pending allocation. A time with ~ is the daemon's
own estimate, where Slurm has none.`,
		GroupID: cli.GroupCompute,
		Example: `  torc-slurm sq
  torc-slurm sq 12 --ended          also those that have ended, and why
  watch -n 5 torc-slurm sq
  torc-slurm -f json sq | jq '.items[] | select(.state == "pending") | .reason_text'`,
		Annotations: cli.WithCSV(cli.ServerExits()),
		RunE: a.ServerCommand(func(ctx context.Context, c *cli.Connection, args []string) error {
			filter := client.AllocationQueueFilter{Ended: ended, MaxAge: maxPollAge}
			if fresh {
				filter.MaxAge = 0
			}
			if len(args) > 0 {
				id, err := cli.ParseID("workflow", args[0])
				if err != nil {
					return err
				}
				filter.WorkflowID = id
			}
			return showQueue(ctx, a, c, filter)
		}),
	})
	cmd.Flags().BoolVar(&ended, "ended", false, "also allocations that have ended")
	cmd.Flags().BoolVar(&fresh, "fresh", false, "have the daemon poll Slurm now, even if its last poll is recent")
	return cmd
}

func showQueue(ctx context.Context, a *cli.Factory, c *cli.Connection, filter client.AllocationQueueFilter) error {
	queue, err := c.Allocations.Queue(ctx, filter)
	if err != nil {
		return err
	}
	now := a.Now()
	switch {
	case queue.Stale != "":
		polled := "Slurm has not been polled yet"
		if queue.PolledMS != 0 {
			polled = "the data is from " + clockOf(queue.PolledMS, now)
		}
		a.Note("warning: %s; %s", queue.Stale, polled)
	case a.Format == cli.FormatTable && slices.ContainsFunc(queue.Items, isLive):
		a.Note("%s", pollAge(queue.PolledMS, now))
	}
	if a.Format == cli.FormatTable {
		noteHeld(a, queue.Items)
	}
	return cli.ShowList(a, queueColumns(now), queue.Items)
}

// noteHeld says of which workflows with live allocations no job is claimed, and why.
func noteHeld(a *cli.Factory, items []api.QueuedAllocation) {
	var told []int64
	for i := range items {
		if x := &items[i]; x.ClaimsHeld != "" && isLive(*x) && !slices.Contains(told, x.WorkflowID) {
			told = append(told, x.WorkflowID)
			a.Note("Workflow %d: claims are held: %s", x.WorkflowID, x.ClaimsHeld)
		}
	}
}

func isLive(x api.QueuedAllocation) bool { return x.State != string(compute.AllocationEnded) }

// pollAge returns the age of the daemon's last poll as text.
func pollAge(polledMS int64, now time.Time) string {
	if polledMS == 0 {
		return "Slurm has not been polled yet."
	}
	age := max(0, now.Sub(time.UnixMilli(polledMS)))
	return fmt.Sprintf("Slurm was polled %ds ago; --fresh polls it again.", int(age.Seconds()))
}

// queueColumns returns the columns of the queue; now is the time for relative values.
func queueColumns(now time.Time) cli.List[api.QueuedAllocation] {
	type row = api.QueuedAllocation
	return cli.List[row]{Things: "allocations", Columns: []cli.Column[row]{
		{Title: "ID", Cell: func(x row) string { return fmt.Sprint(x.ID) }},
		{Title: "Slurm ID", Cell: apidata.SlurmID},
		{Title: "Workflow", Cell: func(x row) string { return strings.TrimSpace(fmt.Sprintf("%d %s", x.WorkflowID, x.WorkflowName)) }},
		{Title: "Partition", Cell: func(x row) string { return x.Partition }},
		{Title: "State", Cell: queueState},
		{Title: "Nodes", Cell: func(x row) string { return fmt.Sprint(max(x.Nodes, 1)) }},
		{Title: "Node List", Cell: func(x row) string { return x.NodeList }},
		{Title: "Time Left", Cell: func(x row) string { return timeLeft(x, now) }},
		{Title: "Starts", Cell: func(x row) string { return startOf(x, now) }},
		{Title: "Running", Cell: func(x row) string { return countIf(x, x.JobsRunning) }},
		{Title: "Done", Cell: func(x row) string { return countIf(x, x.AttemptsDone) }},
		{Title: "Failed", Cell: func(x row) string { return countIf(x, x.AttemptsFailed) }},
		{Title: "Why", Cell: queueWhy},
		{Title: "Account", Only: cli.FormatCSV, Cell: func(x row) string { return x.Account }},
		{Title: "QOS", Only: cli.FormatCSV, Cell: func(x row) string { return x.QOS }},
		{Title: "Job Name", Only: cli.FormatCSV, Cell: func(x row) string { return x.JobName }},
		{Title: "Scheduler ID", Only: cli.FormatCSV, Cell: func(x row) string { return cli.OrEmpty(x.SchedulerConfigID) }},
	}}
}

// queueState returns Slurm's state of an allocation, or the daemon's if Slurm has not
// reported one.
func queueState(x api.QueuedAllocation) string {
	switch {
	case x.State == string(compute.AllocationEnded):
		return x.State + " (" + x.Cause + ")"
	case x.CancelMS != 0:
		return "canceling"
	}
	return cli.FirstOf(x.SlurmState, x.State)
}

// countIf formats a number of jobs; it is empty for an allocation that has not started.
func countIf(x api.QueuedAllocation, n int64) string {
	if x.StartMS == 0 && n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// timeLeft returns the remaining time of a running allocation, or the time limit of a
// pending one.
func timeLeft(x api.QueuedAllocation, now time.Time) string {
	switch {
	case x.State == string(compute.AllocationEnded):
		return ""
	case x.LimitMS != 0:
		return cli.ClockTime(max(0, time.UnixMilli(x.LimitMS).Sub(now).Truncate(time.Second)))
	case x.WalltimeSeconds != 0:
		return cli.ClockTime(cli.Seconds(float64(x.WalltimeSeconds)))
	}
	return ""
}

// startOf returns when a pending allocation is expected to start, with ~ if that is not
// Slurm's estimate.
func startOf(x api.QueuedAllocation, now time.Time) string {
	switch {
	case x.CancelMS != 0 || x.State == string(compute.AllocationEnded):
		return ""
	case x.EstimatedStartMS != 0:
		return clockOf(x.EstimatedStartMS, now)
	case x.ExpectedStartMS != 0:
		return "~" + clockOf(x.ExpectedStartMS, now)
	}
	return ""
}

// queueWhy returns why an allocation is pending, or why it ended.
func queueWhy(x api.QueuedAllocation) string {
	switch {
	case x.State == string(compute.AllocationEnded):
		return x.CauseText
	case x.CancelMS != 0:
		return x.CancelWhy
	}
	return x.ReasonText
}

// clockOf formats a time: the time of day, with the date if it is not today.
func clockOf(ms int64, now time.Time) string {
	t := time.UnixMilli(ms).In(now.Location())
	if t.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return t.Format(time.TimeOnly)
	}
	return t.Format("2006-01-02 15:04")
}
