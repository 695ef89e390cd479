package admin

import (
	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
)

// NewPing returns the command that checks whether the server answers.
func NewPing(a *cli.Factory) *cobra.Command {
	return &cobra.Command{
		Use:     "ping",
		Short:   "Check whether the server answers",
		GroupID: cli.GroupServer,
		Example: `  torc-slurm ping
  torc-slurm --url http://login1:8080/torc-service/v1 ping`,
		Args:        cobra.NoArgs,
		Annotations: cli.Exits(cli.ExitUnreachable, cli.ExitRefused),
		RunE: func(c *cobra.Command, _ []string) error {
			conn, err := a.Connect(c.Context())
			if err != nil {
				return err
			}
			answer, err := conn.Ping(c.Context())
			if err != nil {
				return err
			}
			return a.ShowMessage(answer, "Server is running")
		},
	}
}
