package workflows

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
)

func newList(a *cli.Factory) *cobra.Command {
	var (
		listing                               cli.ListFlags
		archivedOnly, includeArchived, others bool
		group                                 string
	)
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List your workflows",
		Example: `  torc-slurm workflows list
  torc-slurm workflows list --all-users --sort-by timestamp --reverse-sort -l 10
  torc-slurm -f json workflows list | jq -r '.items[].name'`,
		Args:        cobra.NoArgs,
		Annotations: cli.ServerExits(),
		RunE: a.ServerCommand(func(ctx context.Context, c *cli.Connection, _ []string) error {
			if err := listing.Check(); err != nil {
				return err
			}
			filter := client.WorkflowFilter{Page: listing.Page, AccessGroup: group}
			if !others {
				filter.User = a.User()
			}
			if !includeArchived {
				filter.IsArchived = &archivedOnly
			}
			return cli.ShowAll(a, workflowColumns(others), c.Workflows.List(ctx, filter))
		}),
	}
	listing.Add(cmd, cli.ListShorthands{}, workflowSortable...)
	f := cmd.Flags()
	f.BoolVar(&archivedOnly, "archived-only", false, "only archived ones")
	f.BoolVar(&includeArchived, "include-archived", false, "archived ones too")
	f.BoolVarP(&others, "all-users", "a", false, "those of all users")
	f.StringVarP(&group, "access-group", "g", "", "only those that this group may access")
	cmd.MarkFlagsMutuallyExclusive("archived-only", "include-archived")
	return cmd
}
