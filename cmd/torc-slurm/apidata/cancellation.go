package apidata

import (
	"context"
	"slices"
	"time"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// cancelWithin is how long AwaitGone waits for Slurm.
const cancelWithin = time.Minute

// cancelPollAge is the maximum age of the poll of Slurm that AwaitGone accepts.
const cancelPollAge = 3 * time.Second

// AwaitGone waits up to a minute until the allocations of a workflow have ended, and
// returns those that have not.
func AwaitGone(ctx context.Context, a *cli.Factory, c *cli.Connection, id int64, before []api.Allocation) ([]api.QueuedAllocation, error) {
	if len(before) == 0 {
		return nil, nil
	}
	if a.Format != cli.FormatJSON {
		a.Note("Waiting for the end of %s", workflow.CountOf(int64(len(before)), "allocation", "allocations"))
	}
	deadline := a.Now().Add(cancelWithin)
	for {
		queue, err := c.Allocations.Queue(ctx, client.AllocationQueueFilter{WorkflowID: id, MaxAge: cancelPollAge})
		if err != nil {
			return nil, err
		}
		left := slices.DeleteFunc(queue.Items, func(l api.QueuedAllocation) bool { // requested since then, to undo the run
			return l.CancelMS == 0 && !slices.ContainsFunc(before, func(x api.Allocation) bool { return x.IntentID == l.IntentID })
		})
		if len(left) == 0 {
			return nil, nil
		}
		if !a.Now().Before(deadline) {
			return left, nil
		}
		if err := cli.Pause(ctx, time.Second); err != nil {
			return nil, err
		}
	}
}
