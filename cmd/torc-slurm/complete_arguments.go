package main

import "github.com/spf13/cobra"

// completePaths leaves the completion of an argument to the shell, which knows
// files.
func completePaths(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveDefault
}

// completeWorkflowThenPath offers workflows for the first argument and files
// for the second.
func (a *app) completeWorkflowThenPath(c *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 1 {
		return completePaths(c, args, start)
	}
	return a.completeWorkflows(1)(c, args, start)
}

// noPathsElsewhere keeps the shell from offering files for arguments of which
// a command says nothing: they are ids.
func noPathsElsewhere(c *cobra.Command) {
	if c.ValidArgsFunction == nil && len(c.ValidArgs) == 0 && !c.HasSubCommands() {
		c.ValidArgsFunction = cobra.NoFileCompletions
	}
	for _, sub := range c.Commands() {
		noPathsElsewhere(sub)
	}
}
