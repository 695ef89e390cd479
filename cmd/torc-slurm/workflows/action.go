package workflows

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/apidata"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/workflow/action"
)

var actionColumns = cli.List[api.Action]{Things: "actions", Columns: []cli.Column[api.Action]{
	{Title: "ID", Cell: func(x api.Action) string { return cli.OrEmpty(x.ID) }},
	{Title: "Trigger", Cell: func(x api.Action) string { return x.TriggerType }},
	{Title: "Action", Cell: func(x api.Action) string { return x.ActionType }},
	{Title: "Allocations", Cell: apidata.ActionAllocations},
	{Title: "Progress", Cell: func(x api.Action) string {
		if x.Status == action.StatusAutomatic {
			return ""
		}
		return fmt.Sprintf("%d/%d", cli.OrZero(x.TriggerCount), cli.OrZero(x.RequiredTriggers))
	}},
	{Title: "Status", Cell: func(x api.Action) string { return string(x.Status) }},
	{Title: "Executed At", Cell: func(x api.Action) string { return cli.OrEmpty(x.ExecutedAt) }},
	{Title: "Job IDs", Cell: func(x api.Action) string { return cli.FirstNames(cli.Texts(x.JobIDs)) }},
}}

func newListActions(a *cli.Factory) *cobra.Command {
	return &cobra.Command{
		Use:               "list-actions [WORKFLOW]",
		Short:             "List the actions of a workflow with their status",
		Example:           `  torc-slurm workflows list-actions 12`,
		Args:              cobra.MaximumNArgs(1),
		Annotations:       cli.WithCSV(cli.ServerExits()),
		ValidArgsFunction: cli.CompleteWorkflows(a, 1),
		RunE: a.WorkflowView(func(ctx context.Context, c *cli.Connection, id int64) error {
			actions, err := c.Actions.List(ctx, id)
			if err != nil {
				return err
			}
			return cli.ShowList(a, actionColumns, actions)
		}),
	}
}

// actionFlags are the keys of a schedule_nodes action that can be changed.
type actionFlags struct {
	schedulerID, allocations, parallel int64
	schedulerType, config              string
	perNode                            bool
}

func newUpdateAction(a *cli.Factory) *cobra.Command {
	var o actionFlags
	cmd := &cobra.Command{
		Use:   "update-action WORKFLOW ACTION",
		Short: "Change an action",
		Long:  `Change keys of an action's configuration. Other keys keep their values.`,
		Example: `  torc-slurm workflows update-action 12 4 --num-allocations 3
  torc-slurm workflows update-action 12 5 --json '{"commands": ["./notify.sh"]}'`,
		Args:              cobra.ExactArgs(2),
		Annotations:       cli.ServerExits(),
		ValidArgsFunction: cli.CompleteWorkflows(a, 1),
	}
	f := cmd.Flags()
	f.Int64Var(&o.schedulerID, "scheduler-id", 0, "other scheduler")
	f.StringVar(&o.schedulerType, "scheduler-type", "", "its type")
	f.Int64Var(&o.allocations, "num-allocations", 0, "number of allocations that it requests")
	cli.YesOrNoVar(f, &o.perNode, "start-one-worker-per-node", "whether each node of an allocation gets a runner: `true|false`")
	f.Int64Var(&o.parallel, "max-parallel-jobs", 0, "how many jobs a runner runs at a time")
	f.StringVar(&o.config, "json", "", "keys to change, as a `JSON` object")
	names := []string{"scheduler-id", "scheduler-type", "num-allocations", "start-one-worker-per-node", "max-parallel-jobs", "json"}
	cmd.MarkFlagsOneRequired(names...)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		ids, err := actionArgs(args)
		if err != nil {
			return err
		}
		keys, err := o.keys(cmd)
		if err != nil {
			return err
		}
		return a.ServerCommand(func(ctx context.Context, c *cli.Connection, _ []string) error {
			action, err := c.Actions.Update(ctx, ids[0], ids[1], keys)
			if err != nil {
				return err
			}
			return a.ShowMessage(action, "Updated action %d of workflow %d", ids[1], ids[0])
		})(cmd, args)
	}
	return cmd
}

func actionArgs(args []string) (ids [2]int64, err error) {
	if ids[0], err = cli.ParseID("workflow", args[0]); err != nil {
		return ids, err
	}
	ids[1], err = cli.ParseID("action", args[1])
	return ids, err
}

// keys returns the given keys; a separate flag takes precedence over --json.
func (o *actionFlags) keys(cmd *cobra.Command) (api.Object, error) {
	keys := make(map[string]any)
	if o.config != "" {
		if !cli.IsObject(o.config) {
			return nil, cli.UsageErrorf("--json is not a JSON object: %s", o.config)
		}
		if err := json.Unmarshal([]byte(o.config), &keys); err != nil {
			return nil, err
		}
	}
	for flag, key := range map[string]struct {
		name  string
		value any
	}{
		"scheduler-id":              {"scheduler_id", o.schedulerID},
		"scheduler-type":            {"scheduler_type", o.schedulerType},
		"num-allocations":           {"num_allocations", o.allocations},
		"start-one-worker-per-node": {"start_one_worker_per_node", o.perNode},
		"max-parallel-jobs":         {"max_parallel_jobs", o.parallel},
	} {
		if cmd.Flags().Changed(flag) {
			keys[key.name] = key.value
		}
	}
	text, err := json.Marshal(keys)
	return api.Object(text), err
}

func newDeleteAction(a *cli.Factory) *cobra.Command {
	var noPrompts bool
	cmd := &cobra.Command{
		Use:               "delete-action WORKFLOW ACTION",
		Short:             "Delete an action",
		Example:           `  torc-slurm workflows delete-action 12 4`,
		Args:              cobra.ExactArgs(2),
		Annotations:       cli.ServerExits(),
		ValidArgsFunction: cli.CompleteWorkflows(a, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ids, err := actionArgs(args)
			if err != nil {
				return err
			}
			return a.ServerCommand(func(ctx context.Context, c *cli.Connection, _ []string) error {
				if yes, err := a.Confirm(noPrompts, fmt.Sprintf("Delete action %d of workflow %d?", ids[1], ids[0])); err != nil || !yes {
					return err
				}
				message, err := c.Actions.Delete(ctx, ids[0], ids[1])
				if err != nil {
					return err
				}
				return a.ShowMessage(message, "Deleted action %d of workflow %d", ids[1], ids[0])
			})(cmd, args)
		},
	}
	cli.AddNoPrompts(cmd.Flags(), &noPrompts)
	return cmd
}
