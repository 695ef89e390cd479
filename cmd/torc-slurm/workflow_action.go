package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/workflow"
)

var actionColumns = list[api.Action]{things: "actions", columns: []column[api.Action]{
	{title: "ID", cell: func(x api.Action) string { return orEmpty(x.ID) }},
	{title: "Trigger", cell: func(x api.Action) string { return x.TriggerType }},
	{title: "Action", cell: func(x api.Action) string { return x.ActionType }},
	{title: "Allocations", cell: actionAllocations},
	{title: "Progress", cell: func(x api.Action) string {
		if x.TriggerType == workflow.TriggerAutoSchedule {
			return ""
		}
		return fmt.Sprintf("%d/%d", idOf(x.TriggerCount), idOf(x.RequiredTriggers))
	}},
	{title: "Status", cell: actionStatus},
	{title: "Executed At", cell: func(x api.Action) string { return orEmpty(x.ExecutedAt) }},
	{title: "Job IDs", cell: func(x api.Action) string { return firstNames(texts(x.JobIDs)) }},
}}

// actionAllocations is how many allocations an action asks for.
func actionAllocations(x api.Action) string {
	switch {
	case x.ActionType != workflow.ActionScheduleNodes:
		return ""
	case x.TriggerType == workflow.TriggerAutoSchedule:
		return "as needed"
	}
	var config struct {
		NumAllocations *int64 `json:"num_allocations"`
	}
	if json.Unmarshal(x.ActionConfig, &config) != nil || config.NumAllocations == nil {
		return "1"
	}
	return fmt.Sprint(*config.NumAllocations)
}

func actionStatus(x api.Action) string {
	switch {
	case x.TriggerType == workflow.TriggerAutoSchedule:
		return "automatic"
	case x.Executed != nil && *x.Executed:
		return "executed"
	case idOf(x.TriggerCount) >= idOf(x.RequiredTriggers):
		return "pending"
	}
	return "waiting"
}

func newWorkflowsListActionsCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:               "list-actions [WORKFLOW]",
		Short:             "List the actions of a workflow and how far they are",
		Example:           `  torc-slurm workflows list-actions 12`,
		Args:              cobra.MaximumNArgs(1),
		Annotations:       withCSV(serverExits()),
		ValidArgsFunction: a.completeWorkflows(1),
		RunE: a.workflowView(func(ctx context.Context, c *connection, id int64) error {
			actions, err := c.Actions(ctx, id)
			if err != nil {
				return err
			}
			return showList(a, actionColumns, actions)
		}),
	}
}

// actionFlags are the keys of a schedule_nodes action that can be changed.
type actionFlags struct {
	schedulerID, allocations, parallel int64
	schedulerType, config              string
	perNode                            bool
}

func newWorkflowsUpdateActionCommand(a *app) *cobra.Command {
	var o actionFlags
	cmd := &cobra.Command{
		Use:   "update-action WORKFLOW ACTION",
		Short: "Change what an action does",
		Long:  `Change keys of an action's configuration; the others stay.`,
		Example: `  torc-slurm workflows update-action 12 4 --num-allocations 3
  torc-slurm workflows update-action 12 5 --json '{"commands": ["./notify.sh"]}'`,
		Args:              cobra.ExactArgs(2),
		Annotations:       serverExits(),
		ValidArgsFunction: a.completeWorkflows(1),
	}
	f := cmd.Flags()
	f.Int64Var(&o.schedulerID, "scheduler-id", 0, "other scheduler")
	f.StringVar(&o.schedulerType, "scheduler-type", "", "its type")
	f.Int64Var(&o.allocations, "num-allocations", 0, "how many allocations it asks for")
	yesOrNoVar(f, &o.perNode, "start-one-worker-per-node", "whether each node of an allocation gets a runner: `true|false`")
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
		return a.serverCommand(func(ctx context.Context, c *connection, _ []string) error {
			action, err := c.UpdateAction(ctx, ids[0], ids[1], keys)
			if err != nil {
				return err
			}
			return a.showMessage(action, "Updated action %d of workflow %d", ids[1], ids[0])
		})(cmd, args)
	}
	return cmd
}

func actionArgs(args []string) (ids [2]int64, err error) {
	if ids[0], err = parseID("workflow", args[0]); err != nil {
		return ids, err
	}
	ids[1], err = parseID("action", args[1])
	return ids, err
}

// keys are those that were given; a flag of its own wins over --json.
func (o *actionFlags) keys(cmd *cobra.Command) (api.Object, error) {
	keys := make(map[string]any)
	if o.config != "" {
		if !isObject(o.config) {
			return nil, usageErrorf("--json is not a JSON object: %s", o.config)
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

func newWorkflowsDeleteActionCommand(a *app) *cobra.Command {
	var noPrompts bool
	cmd := &cobra.Command{
		Use:               "delete-action WORKFLOW ACTION",
		Short:             "Delete an action",
		Example:           `  torc-slurm workflows delete-action 12 4`,
		Args:              cobra.ExactArgs(2),
		Annotations:       serverExits(),
		ValidArgsFunction: a.completeWorkflows(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ids, err := actionArgs(args)
			if err != nil {
				return err
			}
			return a.serverCommand(func(ctx context.Context, c *connection, _ []string) error {
				if yes, err := a.confirm(noPrompts, fmt.Sprintf("Delete action %d of workflow %d?", ids[1], ids[0])); err != nil || !yes {
					return err
				}
				message, err := c.DeleteAction(ctx, ids[0], ids[1])
				if err != nil {
					return err
				}
				return a.showMessage(message, "Deleted action %d of workflow %d", ids[1], ids[0])
			})(cmd, args)
		},
	}
	addNoPrompts(cmd.Flags(), &noPrompts)
	return cmd
}
