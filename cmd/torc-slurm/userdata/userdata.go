// Package userdata has the commands about the user data of workflows.
package userdata

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// New returns the group of commands about user data.
func New(a *cli.Factory) *cobra.Command {
	return cli.NewGroup(a, cli.GroupManagement, "user-data", "JSON values that jobs read and write",
		newCreate(a),
		newList(a),
		newGet(a),
		newUpdate(a),
		newDelete(a),
		newDeleteAll(a),
		newListMissing(a),
	)
}

var userDataColumns = cli.List[api.UserData]{Things: "user data", Columns: []cli.Column[api.UserData]{
	{Title: "ID", Cell: func(u api.UserData) string { return cli.OrEmpty(u.ID) }},
	{Title: "Name", Cell: func(u api.UserData) string { return u.Name }},
	{Title: "Ephemeral", Cell: func(u api.UserData) string { return cli.YesNo(u.IsEphemeral) }},
	{Title: "Data", Cell: func(u api.UserData) string { return cli.JSONText(u.Data) }},
}}

func newCreate(a *cli.Factory) *cobra.Command {
	var (
		name, data         string
		ephemeral          bool
		consumer, producer int64
	)
	cmd := cli.OnWorkflow(a, &cobra.Command{
		Use:   "create [WORKFLOW] --name NAME",
		Short: "Add user data to a workflow",
		Example: `  torc-slurm user-data create 12 -n params -d '{"alpha": 0.1}' --consumer-job-id 42
  torc-slurm user-data create 12 -n best --ephemeral --producer-job-id 42`,
	})
	f := cmd.Flags()
	f.StringVarP(&name, "name", "n", "", "`NAME` of the user data")
	f.StringVarP(&data, "data", "d", "", "the value, as `JSON`")
	f.BoolVar(&ephemeral, "ephemeral", false, "it is made anew by each run")
	f.Int64Var(&consumer, "consumer-job-id", 0, "`JOB` that reads it")
	f.Int64Var(&producer, "producer-job-id", 0, "`JOB` that writes it")
	_ = cmd.MarkFlagRequired("name")
	check := func() error { return cli.CheckJSON("data", data) }
	cmd.RunE = cli.Checked(check, a.WorkflowCommand(func(ctx context.Context, c *cli.Connection, id int64) error {
		u := api.UserData{WorkflowID: id, Name: name, IsEphemeral: &ephemeral, Data: json.RawMessage(data)}
		created, err := c.UserData.Add(ctx, &u, cli.Given(cmd, "consumer-job-id", consumer), cli.Given(cmd, "producer-job-id", producer))
		if err != nil {
			return err
		}
		return a.ShowMessage(created, "Created user data %s", cli.OrEmpty(created.ID))
	}))
	return cmd
}

func newList(a *cli.Factory) *cobra.Command {
	var (
		listing            cli.ListFlags
		name               string
		ephemeral          bool
		consumer, producer int64
	)
	cmd := cli.OnWorkflow(a, &cobra.Command{
		Use:   "list [WORKFLOW]",
		Short: "List the user data of a workflow",
		Example: `  torc-slurm user-data list 12
  torc-slurm -f json user-data list 12 --name params | jq '.items[0].data'`,
	})
	listing.Add(cmd, cli.ListShorthands{Offset: "o"}, "name", "is_ephemeral", "data")
	f := cmd.Flags()
	f.StringVar(&name, "name", "", "only those whose name has this `PART`")
	cli.YesOrNoVar(f, &ephemeral, "is-ephemeral", "only those that are made anew by each run, or are not: `true|false`")
	f.Int64Var(&consumer, "consumer-job-id", 0, "only those that this `JOB` reads")
	f.Int64Var(&producer, "producer-job-id", 0, "only those that this `JOB` writes")
	cmd.RunE = cli.Checked(listing.Check, a.WorkflowView(func(ctx context.Context, c *cli.Connection, id int64) error {
		return cli.ShowAll(a, userDataColumns, c.UserData.List(ctx, client.UserDataFilter{
			Page: listing.Page, WorkflowID: id, Name: name, IsEphemeral: cli.Given(cmd, "is-ephemeral", ephemeral),
			ConsumerJobID: cli.Given(cmd, "consumer-job-id", consumer), ProducerJobID: cli.Given(cmd, "producer-job-id", producer),
		}))
	}))
	return cmd
}

func newGet(a *cli.Factory) *cobra.Command {
	return &cobra.Command{
		Use:   "get USER_DATA",
		Short: "Show user data",
		Example: `  torc-slurm user-data get 5
  torc-slurm -f json user-data get 5 | jq .data`,
		Args:        cobra.ExactArgs(1),
		Annotations: cli.ServerExits(),
		RunE: a.IDCommand("user data record", func(ctx context.Context, c *cli.Connection, id int64) error {
			u, err := c.UserData.Get(ctx, id)
			if err != nil {
				return err
			}
			return a.ShowRecord(u, func(w io.Writer) {
				cli.WriteFields(w, cli.Field{"ID", cli.OrEmpty(u.ID)}, cli.Field{"Workflow", cli.OrEmpty(&u.WorkflowID)}, cli.Field{"Name", u.Name},
					cli.Field{"Ephemeral", cli.YesNo(u.IsEphemeral)}, cli.Field{"Data", cli.JSONText(u.Data)})
			})
		}),
	}
}

func newUpdate(a *cli.Factory) *cobra.Command {
	var (
		name, data string
		ephemeral  bool
	)
	cmd := &cobra.Command{
		Use:         "update USER_DATA",
		Short:       "Change user data",
		Example:     `  torc-slurm user-data update 5 -d '{"alpha": 0.2}'`,
		Args:        cobra.ExactArgs(1),
		Annotations: cli.ServerExits(),
	}
	f := cmd.Flags()
	f.StringVarP(&name, "name", "n", "", "new `NAME`")
	f.StringVarP(&data, "data", "d", "", "new value, as `JSON`")
	cli.YesOrNoVar(f, &ephemeral, "ephemeral", "whether it is made anew by each run: `true|false`")
	cmd.MarkFlagsOneRequired("name", "data", "ephemeral")
	check := func() error { return cli.CheckJSON("data", data) }
	cmd.RunE = cli.Checked(check, a.IDCommand("user data record", func(ctx context.Context, c *cli.Connection, id int64) error {
		u, err := c.UserData.Get(ctx, id)
		if err != nil {
			return err
		}
		u.Name, u.Data = cli.FirstOf(name, u.Name), json.RawMessage(cli.FirstOf(data, string(u.Data)))
		if cmd.Flags().Changed("ephemeral") {
			u.IsEphemeral = &ephemeral
		}
		if u, err = c.UserData.Update(ctx, id, u); err != nil {
			return err
		}
		return a.ShowMessage(u, "Updated user data %d", id)
	}))
	return cmd
}

func newDelete(a *cli.Factory) *cobra.Command {
	return &cobra.Command{
		Use:         "delete USER_DATA",
		Short:       "Delete user data",
		Example:     `  torc-slurm user-data delete 5`,
		Args:        cobra.ExactArgs(1),
		Annotations: cli.ServerExits(),
		RunE: a.IDCommand("user data record", func(ctx context.Context, c *cli.Connection, id int64) error {
			u, err := c.UserData.Delete(ctx, id)
			if err != nil {
				return err
			}
			return a.ShowMessage(u, "Deleted user data %d", id)
		}),
	}
}

func newDeleteAll(a *cli.Factory) *cobra.Command {
	var noPrompts bool
	cmd := &cobra.Command{
		Use:               "delete-all WORKFLOW",
		Short:             "Delete all user data of a workflow",
		Example:           `  torc-slurm user-data delete-all 12 --no-prompts`,
		Args:              cobra.ExactArgs(1),
		Annotations:       cli.ServerExits(),
		ValidArgsFunction: cli.CompleteWorkflows(a, 1),
	}
	cli.AddNoPrompts(cmd.Flags(), &noPrompts)
	cmd.RunE = a.WorkflowCommand(func(ctx context.Context, c *cli.Connection, id int64) error {
		if _, err := c.Workflows.Get(ctx, id); err != nil {
			return err
		}
		if yes, err := a.Confirm(noPrompts, fmt.Sprintf("Delete all user data of workflow %d?", id)); err != nil || !yes {
			return err
		}
		deleted, err := c.UserData.DeleteAll(ctx, id)
		if err != nil {
			return err
		}
		return a.ShowMessage(deleted, "Deleted %s of user data", workflow.CountOf(deleted.DeletedCount, "record", "records"))
	})
	return cmd
}

func newListMissing(a *cli.Factory) *cobra.Command {
	return &cobra.Command{
		Use:   "list-missing WORKFLOW",
		Short: "List the user data that jobs need and that have no value",
		Long: `List the user data without a value that jobs read and no job writes, or that
completed jobs should have written.`,
		Example:           `  torc-slurm user-data list-missing 12`,
		Args:              cobra.ExactArgs(1),
		Annotations:       cli.WithCSV(cli.ServerExits()),
		ValidArgsFunction: cli.CompleteWorkflows(a, 1),
		RunE: a.WorkflowView(func(ctx context.Context, c *cli.Connection, id int64) error {
			ids, err := c.UserData.Missing(ctx, id)
			if err != nil {
				return err
			}
			missing := make([]api.UserData, 0, len(ids))
			for _, missingID := range ids {
				u, err := c.UserData.Get(ctx, missingID)
				if err != nil {
					return err
				}
				missing = append(missing, *u)
			}
			return cli.ShowList(a, userDataColumns, missing)
		}),
	}
}
