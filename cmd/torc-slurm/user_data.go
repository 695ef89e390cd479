package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// newUserDataCommand groups the commands about user data.
func newUserDataCommand(a *app) *cobra.Command {
	return newGroup(a, groupManagement, "user-data", "JSON values that jobs read and write",
		newUserDataCreateCommand(a),
		newUserDataListCommand(a),
		newUserDataGetCommand(a),
		newUserDataUpdateCommand(a),
		newUserDataDeleteCommand(a),
		newUserDataDeleteAllCommand(a),
		newUserDataListMissingCommand(a),
	)
}

var userDataColumns = list[api.UserData]{things: "user data", columns: []column[api.UserData]{
	{title: "ID", cell: func(u api.UserData) string { return orEmpty(u.ID) }},
	{title: "Name", cell: func(u api.UserData) string { return u.Name }},
	{title: "Ephemeral", cell: func(u api.UserData) string { return yesNo(u.IsEphemeral) }},
	{title: "Data", cell: func(u api.UserData) string { return jsonText(u.Data) }},
}}

// jsonText writes a JSON value in one line; nothing for null.
func jsonText(data json.RawMessage) string {
	if string(data) == "null" {
		return ""
	}
	return string(data)
}

// checkJSON refuses what is no JSON.
func checkJSON(flag, text string) error {
	if text != "" && !json.Valid([]byte(text)) {
		return usageErrorf("--%s is not JSON: %s (a text is written with its quotes: '\"%s\"')", flag, text, text)
	}
	return nil
}

func newUserDataCreateCommand(a *app) *cobra.Command {
	var (
		name, data         string
		ephemeral          bool
		consumer, producer int64
	)
	cmd := &cobra.Command{
		Use:   "create [WORKFLOW] --name NAME",
		Short: "Add user data to a workflow",
		Example: `  torc-slurm user-data create 12 -n params -d '{"alpha": 0.1}' --consumer-job-id 42
  torc-slurm user-data create 12 -n best --ephemeral --producer-job-id 42`,
		Args:              cobra.MaximumNArgs(1),
		Annotations:       serverExits(),
		ValidArgsFunction: a.completeWorkflows(1),
	}
	f := cmd.Flags()
	f.StringVarP(&name, "name", "n", "", "`NAME` of the user data")
	f.StringVarP(&data, "data", "d", "", "the value, as `JSON`")
	f.BoolVar(&ephemeral, "ephemeral", false, "it is made anew by each run")
	f.Int64Var(&consumer, "consumer-job-id", 0, "`JOB` that reads it")
	f.Int64Var(&producer, "producer-job-id", 0, "`JOB` that writes it")
	_ = cmd.MarkFlagRequired("name")
	check := func() error { return checkJSON("data", data) }
	cmd.RunE = checked(check, a.workflowCommand(func(ctx context.Context, c *connection, id int64) error {
		u := api.UserData{WorkflowID: id, Name: name, IsEphemeral: &ephemeral, Data: json.RawMessage(data)}
		created, err := c.AddUserData(ctx, &u, given(cmd, "consumer-job-id", consumer), given(cmd, "producer-job-id", producer))
		if err != nil {
			return err
		}
		return a.showMessage(created, "Created user data %s", orEmpty(created.ID))
	}))
	return cmd
}

func newUserDataListCommand(a *app) *cobra.Command {
	var (
		listing            listFlags
		name               string
		ephemeral          bool
		consumer, producer int64
	)
	cmd := &cobra.Command{
		Use:   "list [WORKFLOW]",
		Short: "List the user data of a workflow",
		Example: `  torc-slurm user-data list 12
  torc-slurm -f json user-data list 12 --name params | jq '.items[0].data'`,
		Args:              cobra.MaximumNArgs(1),
		Annotations:       serverExits(),
		ValidArgsFunction: a.completeWorkflows(1),
	}
	listing.add(cmd, listShorthands{offset: "o"}, "name", "is_ephemeral", "data")
	f := cmd.Flags()
	f.StringVar(&name, "name", "", "only those whose name has this `PART`")
	yesOrNoVar(f, &ephemeral, "is-ephemeral", "only those that are made anew by each run, or are not: `true|false`")
	f.Int64Var(&consumer, "consumer-job-id", 0, "only those that this `JOB` reads")
	f.Int64Var(&producer, "producer-job-id", 0, "only those that this `JOB` writes")
	cmd.RunE = checked(listing.check, a.workflowView(func(ctx context.Context, c *connection, id int64) error {
		all, err := client.Collect(c.UserData(ctx, client.UserDataFilter{
			Page: listing.page, WorkflowID: id, Name: name, IsEphemeral: given(cmd, "is-ephemeral", ephemeral),
			ConsumerJobID: given(cmd, "consumer-job-id", consumer), ProducerJobID: given(cmd, "producer-job-id", producer),
		}))
		if err != nil {
			return err
		}
		return showList(a, userDataColumns, all)
	}))
	return cmd
}

func newUserDataGetCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "get USER_DATA",
		Short: "Show user data",
		Example: `  torc-slurm user-data get 5
  torc-slurm -f json user-data get 5 | jq .data`,
		Args:        cobra.ExactArgs(1),
		Annotations: serverExits(),
		RunE: a.idCommand("user data record", func(ctx context.Context, c *connection, id int64) error {
			u, err := c.UserDataRecord(ctx, id)
			if err != nil {
				return err
			}
			return a.showRecord(u, func(w io.Writer) {
				writeFields(w, field{"ID", orEmpty(u.ID)}, field{"Workflow", orEmpty(&u.WorkflowID)}, field{"Name", u.Name},
					field{"Ephemeral", yesNo(u.IsEphemeral)}, field{"Data", jsonText(u.Data)})
			})
		}),
	}
}

func newUserDataUpdateCommand(a *app) *cobra.Command {
	var (
		name, data string
		ephemeral  bool
	)
	cmd := &cobra.Command{
		Use:         "update USER_DATA",
		Short:       "Change user data",
		Example:     `  torc-slurm user-data update 5 -d '{"alpha": 0.2}'`,
		Args:        cobra.ExactArgs(1),
		Annotations: serverExits(),
	}
	f := cmd.Flags()
	f.StringVarP(&name, "name", "n", "", "new `NAME`")
	f.StringVarP(&data, "data", "d", "", "new value, as `JSON`")
	yesOrNoVar(f, &ephemeral, "ephemeral", "whether it is made anew by each run: `true|false`")
	cmd.MarkFlagsOneRequired("name", "data", "ephemeral")
	check := func() error { return checkJSON("data", data) }
	cmd.RunE = checked(check, a.idCommand("user data record", func(ctx context.Context, c *connection, id int64) error {
		u, err := c.UserDataRecord(ctx, id)
		if err != nil {
			return err
		}
		u.Name, u.Data = firstOf(name, u.Name), json.RawMessage(firstOf(data, string(u.Data)))
		if cmd.Flags().Changed("ephemeral") {
			u.IsEphemeral = &ephemeral
		}
		if u, err = c.UpdateUserDataRecord(ctx, id, u); err != nil {
			return err
		}
		return a.showMessage(u, "Updated user data %d", id)
	}))
	return cmd
}

func newUserDataDeleteCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:         "delete USER_DATA",
		Short:       "Delete user data",
		Example:     `  torc-slurm user-data delete 5`,
		Args:        cobra.ExactArgs(1),
		Annotations: serverExits(),
		RunE: a.idCommand("user data record", func(ctx context.Context, c *connection, id int64) error {
			u, err := c.DeleteUserDataRecord(ctx, id)
			if err != nil {
				return err
			}
			return a.showMessage(u, "Deleted user data %d", id)
		}),
	}
}

func newUserDataDeleteAllCommand(a *app) *cobra.Command {
	var noPrompts bool
	cmd := &cobra.Command{
		Use:               "delete-all WORKFLOW",
		Short:             "Delete all user data of a workflow",
		Example:           `  torc-slurm user-data delete-all 12 --no-prompts`,
		Args:              cobra.ExactArgs(1),
		Annotations:       serverExits(),
		ValidArgsFunction: a.completeWorkflows(1),
	}
	addNoPrompts(cmd.Flags(), &noPrompts)
	cmd.RunE = a.workflowCommand(func(ctx context.Context, c *connection, id int64) error {
		if _, err := c.Workflow(ctx, id); err != nil {
			return err
		}
		if yes, err := a.confirm(noPrompts, fmt.Sprintf("Delete all user data of workflow %d?", id)); err != nil || !yes {
			return err
		}
		deleted, err := c.DeleteAllUserData(ctx, id)
		if err != nil {
			return err
		}
		return a.showMessage(deleted, "Deleted %s of user data", workflow.CountOf(deleted.DeletedCount, "record", "records"))
	})
	return cmd
}

func newUserDataListMissingCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "list-missing WORKFLOW",
		Short: "List the user data that jobs need and that have no value",
		Long: `List the user data without a value that jobs read and no job writes, or that
completed jobs should have written.`,
		Example:           `  torc-slurm user-data list-missing 12`,
		Args:              cobra.ExactArgs(1),
		Annotations:       withCSV(serverExits()),
		ValidArgsFunction: a.completeWorkflows(1),
		RunE: a.workflowView(func(ctx context.Context, c *connection, id int64) error {
			ids, err := c.MissingUserData(ctx, id)
			if err != nil {
				return err
			}
			missing := make([]api.UserData, 0, len(ids))
			for _, missingID := range ids {
				u, err := c.UserDataRecord(ctx, missingID)
				if err != nil {
					return err
				}
				missing = append(missing, *u)
			}
			return showList(a, userDataColumns, missing)
		}),
	}
}
