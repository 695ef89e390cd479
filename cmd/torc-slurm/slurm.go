package main

import "github.com/spf13/cobra"

// newSlurmCommand groups the commands about Slurm.
func newSlurmCommand(a *app) *cobra.Command {
	return newGroup(a, groupCompute, "slurm", "Allocations of Slurm", newSlurmGenerateCommand(a))
}
