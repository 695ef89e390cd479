package main

import (
	"context"

	"github.com/spf13/cobra"
)

func newAdminCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:     "admin",
		Short:   "Look after a server that others share",
		GroupID: groupServer,
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
		Annotations: serverExits(),
		RunE:        func(c *cobra.Command, _ []string) error { return a.reloadAuth(c.Context()) },
	})
	return c
}

func (a *app) reloadAuth(ctx context.Context) error {
	c, err := a.connectRunning(ctx)
	if err != nil {
		return err
	}
	answer, err := c.ReloadAuth(ctx)
	if err != nil {
		return err
	}
	return a.showMessage(answer, "Read again: %s", answer.Message)
}
