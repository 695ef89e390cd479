package main

import "github.com/spf13/cobra"

func newPingCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "ping",
		Short:   "Ask whether the server answers",
		GroupID: groupServer,
		Example: `  torc-slurm ping
  torc-slurm --url http://login1:8080/torc-service/v1 ping`,
		Args:        cobra.NoArgs,
		Annotations: exits(exitUnreachable, exitRefused),
		RunE: func(c *cobra.Command, _ []string) error {
			conn, err := a.connect(c.Context())
			if err != nil {
				return err
			}
			answer, err := conn.Ping(c.Context())
			if err != nil {
				return err
			}
			return a.showMessage(answer, "Server is running")
		},
	}
}
