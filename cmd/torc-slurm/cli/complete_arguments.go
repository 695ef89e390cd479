package cli

import "github.com/spf13/cobra"

// CompletePaths leaves the completion of an argument to the shell, which knows
// files.
func CompletePaths(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveDefault
}

// CompleteWorkflowThenPath offers workflows for the first argument and files
// for the second.
func (a *Factory) CompleteWorkflowThenPath(c *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 1 {
		return CompletePaths(c, args, start)
	}
	return CompleteWorkflows(a, 1)(c, args, start)
}

// NoPathsElsewhere keeps the shell from offering files for arguments of which
// a command says nothing: they are ids.
func NoPathsElsewhere(c *cobra.Command) {
	if c.ValidArgsFunction == nil && len(c.ValidArgs) == 0 && !c.HasSubCommands() {
		c.ValidArgsFunction = cobra.NoFileCompletions
	}
	for _, sub := range c.Commands() {
		NoPathsElsewhere(sub)
	}
}
