// Package daemoncmd has the commands about the user's own daemon.
package daemoncmd

import (
	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
)

// New returns the group of commands about the user's own daemon.
func New(a *cli.Factory) *cobra.Command {
	c := cli.NewGroup(a, cli.GroupServer, "daemon", "Show, stop and restart your daemon",
		newStatus(a), newStop(a), newRestart(a), newLog(a))
	c.Long = `Your daemon owns the database of your workflows. Commands start it when they need it, so
that there is usually no reason to start or stop it. Jobs do not depend on it: they
continue while it is stopped, and their runners keep the reports.`
	return c
}
