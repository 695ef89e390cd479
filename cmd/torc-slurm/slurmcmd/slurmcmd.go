// Package slurmcmd has the commands about Slurm: schedulers, allocations, plans,
// accounting and logs.
package slurmcmd

import (
	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
)

// New returns the group of commands about Slurm.
func New(a *cli.Factory) *cobra.Command {
	return cli.NewGroup(a, cli.GroupCompute, "slurm", "Manage Slurm schedulers and allocations",
		newCreate(a),
		newUpdate(a),
		newList(a),
		newGet(a),
		newDelete(a),
		newSchedule(a, "schedule"),
		newSchedule(a, "schedule-nodes"),
		newCancel(a),
		newGenerate(a),
		newPlan(a, "plan"),
		newPlan(a, "plan-allocations"),
		newRegenerate(a),
		newParseLogs(a),
		newSacct(a),
		newStats(a),
		newUsage(a),
	)
}
