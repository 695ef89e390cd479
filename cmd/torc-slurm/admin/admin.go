// Package admin has the commands about a server: its passwords, its reload, and
// whether it answers.
package admin

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
)

// New groups the commands of the administrator of a server.
func New(a *cli.Factory) *cobra.Command {
	c := &cobra.Command{
		Use:     "admin",
		Short:   "Look after a server that others share",
		GroupID: cli.GroupServer,
		Example: `  torc-slurm admin reload-auth`,
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(&cobra.Command{
		Use:   "reload-auth",
		Short: "Have a shared server read its authentication file again",
		Long: `Have a server that was started with --auth-file read the file again. Users who are
not in it any more, and former passwords, are rejected at once. If something is wrong
with the file, the former users stay.`,
		Example:     `  torc-slurm --url https://login1:8443 admin reload-auth`,
		Args:        cobra.NoArgs,
		Annotations: cli.ServerExits(),
		RunE:        func(c *cobra.Command, _ []string) error { return reloadAuth(c.Context(), a) },
	})
	return c
}

func reloadAuth(ctx context.Context, a *cli.Factory) error {
	c, err := a.ConnectRunning(ctx)
	if err != nil {
		return err
	}
	answer, err := c.ReloadAuth(ctx)
	if err != nil {
		return err
	}
	return a.ShowMessage(answer, "Read again: %s", answer.Message)
}
