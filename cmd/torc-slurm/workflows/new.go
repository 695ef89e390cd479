package workflows

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func newNew(a *cli.Factory) *cobra.Command {
	var name, description string
	cmd := &cobra.Command{
		Use:   "new --name NAME",
		Short: "Create an empty workflow",
		Long: `Create a workflow without jobs, to be filled with "jobs create" and the like. A
workflow with a specification is made by "create" and "run".`,
		Example: `  torc-slurm workflows new -n tests -d "put together by hand"
  id=$(torc-slurm -f json workflows new -n tests | jq .id)`,
		Args:        cobra.NoArgs,
		Annotations: cli.ServerExits(),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.ServerCommand(func(ctx context.Context, c *cli.Connection, _ []string) error {
				w, err := c.Workflows.Create(ctx, &api.Workflow{
					Name: name, User: a.User(), Description: cli.Given(cmd, "description", description), SubmissionDirectory: &a.Dir,
				})
				if err != nil {
					return err
				}
				return a.ShowMessage(w, "Created workflow %s", cli.OrEmpty(w.ID))
			})(cmd, args)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&name, "name", "n", "", "name of the workflow")
	f.StringVarP(&description, "description", "d", "", "what it is for")
	_ = cmd.MarkFlagRequired("name")
	return cmd
}

func newUpdate(a *cli.Factory) *cobra.Command {
	var name, description, owner, project, metadata string
	var maxFailures int64
	var autoSchedule bool
	var unset []string
	cmd := &cobra.Command{
		Use:   "update [WORKFLOW]",
		Short: "Change a workflow's name, description, owner, project, metadata or max_failures",
		Long: `Change a workflow. --unset removes what its policy says, such as max_failures,
deadline, classify_timeout and success_if: from the next decision on it has none.`,
		Example: `  torc-slurm workflows update 12 --project climate
  torc-slurm workflows update 12 --unset max_failures,deadline
  torc-slurm workflows update 12 --metadata '{"paper": "doi:10.1000/1"}'`,
		Args:              cobra.MaximumNArgs(1),
		Annotations:       cli.ServerExits(),
		ValidArgsFunction: cli.CompleteWorkflows(a, 1),
	}
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if metadata != "" && !cli.IsObject(metadata) {
			return cli.UsageErrorf("--metadata is not a JSON object: %s", metadata)
		}
		if err := checkUnset(unset); err != nil {
			return err
		}
		if cmd.Flags().Changed("max-failures") && slices.Contains(unset, "max_failures") {
			return cli.UsageErrorf("--unset max_failures and --max-failures %d contradict each other", maxFailures)
		}
		return a.WorkflowCommand(func(ctx context.Context, c *cli.Connection, id int64) error {
			w, err := c.Workflows.Get(ctx, id)
			if err != nil {
				return err
			}
			change := api.WorkflowUpdate{Workflow: api.Workflow{
				Name: w.Name, User: w.User, Metadata: api.Object(metadata),
				Description: cli.Given(cmd, "description", description), Project: cli.Given(cmd, "project", project),
			}, UnsetPolicy: unset}
			if name != "" {
				change.Name = name
			}
			if owner != "" {
				change.User = owner
			}
			if cmd.Flags().Changed("max-failures") {
				change.Policy = &workflow.RunPolicy{MaxFailures: &maxFailures}
			}
			if cmd.Flags().Changed("auto-schedule") {
				if change.Policy == nil {
					change.Policy = &workflow.RunPolicy{}
				}
				change.Policy.AutoSchedule = &autoSchedule
			}
			if w, err = c.Workflows.Update(ctx, id, &change); err != nil {
				return err
			}
			return a.ShowMessage(w, "Updated workflow %d", id)
		})(cmd, args)
	}
	f := cmd.Flags()
	f.StringVarP(&name, "name", "n", "", "new name")
	f.StringVarP(&description, "description", "d", "", "new description")
	f.StringVar(&owner, "owner-user", "", "new owner")
	f.StringVar(&project, "project", "", "new project")
	f.StringVar(&metadata, "metadata", "", "new metadata, a JSON object")
	f.Int64Var(&maxFailures, "max-failures", 0, "how many jobs may fail before no further job is claimed")
	f.BoolVar(&autoSchedule, "auto-schedule", true, "whether jobs without a place get more allocations than the actions of a submitted workflow ask for")
	f.StringSliceVar(&unset, "unset", nil, "remove these `KEYS` of its policy, such as max_failures,deadline")
	cli.CompleteWords(cmd, "unset", workflow.PolicyKeys()...)
	cmd.MarkFlagsOneRequired("name", "description", "owner-user", "project", "metadata", "max-failures", "auto-schedule", "unset")
	return cmd
}

// checkUnset checks keys of a policy, and writes them as it has them.
func checkUnset(keys []string) error {
	for i, key := range keys {
		key = strings.ReplaceAll(key, "-", "_")
		if key == "success_if" {
			key = "end.success_if"
		}
		keys[i] = key
	}
	if err := (&workflow.RunPolicy{}).Unset(keys); err != nil {
		message, hint := cli.ErrorText(err)
		return cli.UsageErrorf("--unset: %s; %s", message, hint)
	}
	return nil
}
