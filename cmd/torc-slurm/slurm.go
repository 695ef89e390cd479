package main

import "github.com/spf13/cobra"

// newSlurmCommand groups the commands about Slurm.
func newSlurmCommand(a *app) *cobra.Command {
	return newGroup(a, groupCompute, "slurm", "Allocations of Slurm",
		newSlurmCreateCommand(a),
		newSlurmUpdateCommand(a),
		newSlurmListCommand(a),
		newSlurmGetCommand(a),
		newSlurmDeleteCommand(a),
		newSlurmScheduleCommand(a, "schedule"),
		newSlurmScheduleCommand(a, "schedule-nodes"),
		newSlurmGenerateCommand(a),
		newSlurmPlanCommand(a, "plan"),
		newSlurmPlanCommand(a, "plan-allocations"),
		newSlurmRegenerateCommand(a),
		newSlurmParseLogsCommand(a),
		newSlurmSacctCommand(a),
		newSlurmStatsCommand(a),
		newSlurmUsageCommand(a),
	)
}
