package submit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/apidata"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/workflow/action"
)

// review is the dialogue in which the user checks what a repeated submission requests.
type review struct {
	app        *cli.Factory
	c          *cli.Connection
	workflowID int64
	now, later []api.Action
	canceled   bool
	changed    map[int64]api.Object // original configs of changed actions, by action
}

// reviewSubmission shows, on a terminal, what a workflow that was run before would request,
// and lets the user change it. The changes are stored, so later runs request the same. It
// returns a review that says whether the user canceled.
func reviewSubmission(ctx context.Context, a *cli.Factory, c *cli.Connection, id int64, noPrompts bool) (*review, error) {
	r := &review{app: a, c: c, workflowID: id, changed: make(map[int64]api.Object)}
	w, err := c.Workflows.Get(ctx, id)
	if err != nil || noPrompts || !a.StdinTerminal || a.Format == cli.FormatJSON || cli.OrZero(w.RunID) <= 1 {
		return r, err
	}
	if err := r.load(ctx); err != nil || len(r.now)+len(r.later) == 0 {
		return r, err
	}
	for {
		r.show()
		answer, err := a.Ask("[p]roceed, [d]isable <id>, [n]um <id> <count>, [c]ancel: ")
		if errors.Is(err, io.EOF) {
			answer, err = "c", nil
		}
		if err != nil {
			return r, firstError(err, r.restore(ctx))
		}
		words := strings.Fields(answer)
		if len(words) == 0 {
			continue
		}
		switch word := strings.ToLower(words[0]); {
		case word == "p":
			return r, nil
		case word == "c":
			a.Note("Nothing was done.")
			r.canceled = true
			return r, r.restore(ctx)
		default:
			if err := r.apply(ctx, word, words[1:]); err != nil {
				message, _ := cli.ErrorText(err)
				a.Note("%s", message)
			}
		}
	}
}

func (r *review) load(ctx context.Context) error {
	all, err := r.c.Actions.List(ctx, r.workflowID)
	if err != nil {
		return err
	}
	r.now, r.later = nil, nil
	for _, x := range all {
		switch {
		case x.ActionType != action.ScheduleNodes:
		case x.Status == action.StatusPending:
			r.now = append(r.now, x)
		case x.Status == action.StatusWaiting:
			r.later = append(r.later, x)
		}
	}
	return nil
}

func (r *review) show() {
	for _, part := range []struct {
		title   string
		actions []api.Action
	}{{"Will submit now", r.now}, {"Will submit later", r.later}} {
		if len(part.actions) == 0 {
			continue
		}
		r.app.Note("%s:", part.title)
		rows := make([][]string, len(part.actions))
		for i, x := range part.actions {
			rows[i] = []string{cli.OrEmpty(x.ID), x.TriggerType, schedulerOfAction(x), apidata.ActionAllocations(x), cli.FirstNames(cli.Texts(x.JobIDs))}
		}
		cli.WriteTable(r.app.Stderr, []string{"ID", "Trigger", "Scheduler", "Allocations", "Jobs"}, rows, r.app.Width())
	}
}

// schedulerOfAction returns the id of the scheduler of an action, or "" if it has none.
func schedulerOfAction(x api.Action) string {
	var config action.NodesConfig
	if json.Unmarshal(x.ActionConfig, &config) != nil {
		return ""
	}
	return cli.OrEmpty(config.SchedulerID)
}

// apply executes a command that changes what is requested: d disables an action, n sets its
// number of allocations. It returns a usage error for anything else.
func (r *review) apply(ctx context.Context, word string, args []string) error {
	var id, count int64
	var err error
	switch {
	case word == "d" && len(args) == 1:
		if id, err = strconv.ParseInt(args[0], 10, 64); err != nil {
			return cli.UsageErrorf("%q is not an id", args[0])
		}
	case word == "d":
		return cli.UsageErrorf("d needs the id of an action")
	case word == "n" && len(args) == 2:
		var countErr error
		id, err = strconv.ParseInt(args[0], 10, 64)
		if count, countErr = strconv.ParseInt(args[1], 10, 64); err == nil && countErr == nil && count >= 0 {
			break
		}
		fallthrough
	case word == "n":
		return cli.UsageErrorf("n needs the id of an action and a number")
	default:
		return cli.UsageErrorf("unknown command %q", word)
	}
	i := slices.IndexFunc(r.now, func(x api.Action) bool { return cli.OrZero(x.ID) == id })
	if i < 0 {
		return cli.UsageErrorf("action %d is not one of those that submit now", id)
	}
	if count == 0 {
		delete(r.changed, id)
		return firstError(r.c.Actions.Suppress(ctx, r.workflowID, id), r.load(ctx))
	}
	if _, known := r.changed[id]; !known {
		r.changed[id] = r.now[i].ActionConfig
	}
	_, err = r.c.Actions.Update(ctx, r.workflowID, id, api.Object(fmt.Sprintf(`{"num_allocations":%d}`, count)))
	return firstError(err, r.load(ctx))
}

// restore resets the numbers of allocations to those before the dialogue. It is called if the
// dialogue ends without a submission, also after Ctrl-C.
func (r *review) restore(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	var failed []error
	for id, config := range r.changed {
		if _, err := r.c.Actions.Update(ctx, r.workflowID, id, config); err != nil {
			failed = append(failed, fmt.Errorf("restore the number of allocations of action %d: %w", id, err))
		}
	}
	return errors.Join(failed...)
}
