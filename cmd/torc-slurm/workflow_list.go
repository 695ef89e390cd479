package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/client"
)

func newWorkflowsListCommand(a *app) *cobra.Command {
	var (
		listing                               listFlags
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
		Annotations: serverExits(),
		RunE: a.serverCommand(func(ctx context.Context, c *connection, _ []string) error {
			if err := listing.check(); err != nil {
				return err
			}
			filter := client.WorkflowFilter{Page: listing.page, AccessGroup: group}
			if !others {
				filter.User = a.user()
			}
			if !includeArchived {
				filter.IsArchived = &archivedOnly
			}
			items, err := client.Collect(c.Workflows(ctx, filter))
			if err != nil {
				return err
			}
			return showList(a, workflowColumns(others), items)
		}),
	}
	listing.add(cmd, listShorthands{}, workflowSortable...)
	f := cmd.Flags()
	f.BoolVar(&archivedOnly, "archived-only", false, "only archived ones")
	f.BoolVar(&includeArchived, "include-archived", false, "archived ones too")
	f.BoolVarP(&others, "all-users", "a", false, "those of all users")
	f.StringVarP(&group, "access-group", "g", "", "only those that this group may access")
	cmd.MarkFlagsMutuallyExclusive("archived-only", "include-archived")
	return cmd
}
