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

// ReviewPending tells of actions that will request allocations as well, and
// asks whether they should. It reports whether to continue.
func ReviewPending(ctx context.Context, a *cli.Factory, c *cli.Connection, id int64, suppress, noPrompts bool) (bool, error) {
	pending, err := scheduleNodes(ctx, c, id, action.StatusPending)
	if err != nil || len(pending) == 0 {
		return err == nil, err
	}
	if !suppress {
		a.Note("%s of workflow %d will ask for allocations as well:", workflow.CountOf(int64(len(pending)), "action", "actions"), id)
		for _, x := range pending {
			a.Note("  action %d (%s): %s", cli.OrZero(x.ID), x.TriggerType, workflow.CountOf(apidata.ActionCount(x), "allocation", "allocations"))
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

// scheduleNodes returns the actions of a workflow that request allocations and are this far.
func scheduleNodes(ctx context.Context, c *cli.Connection, id int64, status action.Status) ([]api.Action, error) {
	all, err := c.Actions.List(ctx, id)
	return slices.DeleteFunc(all, func(x api.Action) bool { return x.ActionType != action.ScheduleNodes || x.Status != status }), err
}
