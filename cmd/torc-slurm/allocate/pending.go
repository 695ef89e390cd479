package allocate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/apidata"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/action"
)

// ReviewPending tells of actions that will ask for allocations as well, and
// asks whether they shall. It reports whether to go on.
func ReviewPending(ctx context.Context, a *cli.Factory, c *cli.Connection, id int64, suppress, noPrompts bool) (bool, error) {
	pending, err := pendingScheduleNodes(ctx, c, id)
	if err != nil || len(pending) == 0 {
		return err == nil, err
	}
	if !suppress {
		a.Note("%s of workflow %d will ask for allocations as well:", workflow.CountOf(int64(len(pending)), "action", "actions"), id)
		for _, x := range pending {
			a.Note("  action %d (%s): %s", cli.OrZero(x.ID), x.TriggerType, workflow.CountOf(allocationsOf(x), "allocation", "allocations"))
		}
		if noPrompts || !a.StdinTerminal || a.Format == cli.FormatJSON {
			return true, nil
		}
		answer, err := a.Ask("[s]uppress them, [p]roceed, [c]ancel: ")
		if err != nil {
			return false, err
		}
		switch strings.ToLower(answer) {
		case "s":
		case "p":
			return true, nil
		default:
			a.Note("Nothing was done.")
			return false, nil
		}
	}
	for _, x := range pending {
		if err := c.Actions.Suppress(ctx, id, cli.OrZero(x.ID)); err != nil {
			return false, fmt.Errorf("suppress action %d: %w", cli.OrZero(x.ID), err)
		}
	}
	return true, nil
}

// pendingScheduleNodes lists the actions of a workflow that are due and have not
// asked for their allocations yet.
func pendingScheduleNodes(ctx context.Context, c *cli.Connection, id int64) ([]api.Action, error) {
	all, err := c.Actions.List(ctx, id)
	if err != nil {
		return nil, err
	}
	var pending []api.Action
	for _, x := range all {
		if x.ActionType == action.ScheduleNodes && x.TriggerType != action.TriggerAutoSchedule && apidata.ActionStatus(x) == "pending" {
			pending = append(pending, x)
		}
	}
	return pending, nil
}

// waitingScheduleNodes lists those that are not due yet.
func waitingScheduleNodes(ctx context.Context, c *cli.Connection, id int64) ([]api.Action, error) {
	all, err := c.Actions.List(ctx, id)
	return slices.DeleteFunc(all, func(x api.Action) bool {
		return x.ActionType != action.ScheduleNodes || x.TriggerType == action.TriggerAutoSchedule || apidata.ActionStatus(x) != "waiting"
	}), err
}

// allocationsOf is how many allocations an action asks for.
func allocationsOf(x api.Action) (n int64) {
	_, _ = fmt.Sscan(apidata.ActionAllocations(x), &n) // it is a number
	return n
}
