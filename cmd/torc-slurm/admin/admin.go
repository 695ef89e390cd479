// Package admin has the commands of the administrator of a server: passwords, reload, ping.
package admin

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
)

// New returns the group of commands of the administrator of a server.
func New(a *cli.Factory) *cobra.Command {
	c := &cobra.Command{
		Use:     "admin",
		Short:   "Administer a shared server",
		GroupID: cli.GroupServer,
		Example: `  torc-slurm admin reload-auth`,
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(&cobra.Command{
		Use:   "reload-auth",
		Short: "Reload the authentication file of a shared server",
		Long: `Make a server that was started with --auth-file read the file again. Removed users and
old passwords are rejected at once. If the file is invalid, the server keeps the current
users.`,
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
	return a.ShowMessage(answer, "Reloaded: %s", answer.Message)
}
