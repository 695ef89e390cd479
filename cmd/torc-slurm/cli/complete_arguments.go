package cli

import "github.com/spf13/cobra"

// CompletePaths makes the shell complete an argument to files.
func CompletePaths(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveDefault
}

// CompleteWorkflowThenPath completes the first argument to workflows and the second to
// files.
func (a *Factory) CompleteWorkflowThenPath(c *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 1 {
		return CompletePaths(c, args, start)
	}
	return CompleteWorkflows(a, 1)(c, args, start)
}

// NoPathsElsewhere makes the shell not offer files for arguments without a completion,
// which are ids.
func NoPathsElsewhere(c *cobra.Command) {
	if c.ValidArgsFunction == nil && len(c.ValidArgs) == 0 && !c.HasSubCommands() {
		c.ValidArgsFunction = cobra.NoFileCompletions
	}
	for _, sub := range c.Commands() {
		NoPathsElsewhere(sub)
	}
}
